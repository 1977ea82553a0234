# Sourced by ./test: DuckDB, which reads Parquet files back. The recipes of docs/howto/analyse-elsewhere.md for pandas and polars are tested where these are
# installed, or in $COMMSEE_ANALYSIS: they take ten times its room.

# fetch_analysis FOLDER: DuckDB in FOLDER; fails where it cannot be had.
fetch_analysis() {
    [ -d "$1" ] && return
    local new
    new=$(mktemp -d)
    if python3 -m pip install -q --only-binary :all: --no-warn-script-location --target "$new" duckdb; then
        mkdir -p "$(dirname "$1")" && mv "$new" "$1"
    else
        rm -rf "$new"
        return 1
    fi
}
