# Sourced by ./test: what fails is remembered and told at the end, so that it hides nothing that comes after it.

failed_steps=()
test_output=$(mktemp)
trap 'rm -f "$test_output"' EXIT

# step NAME COMMAND…: one that tests can do without.
step() {
    local name=$1
    shift
    "$@" || failed_steps+=("$name")
}

# build COMMAND…: without what it makes there is nothing to test.
build() {
    "$@" && return
    tell_failed_steps
    echo "failed: $*; no test has run" >&2
    exit 1
}

# run_tests COMMAND…: of cargo, which is asked to go on after a failure.
run_tests() {
    "$@" 2>&1 | tee -a "$test_output" || failed_steps+=("$*")
}

tell_failed_steps() {
    [ ${#failed_steps[@]} -eq 0 ] || printf 'failed: %s\n' "${failed_steps[@]}"
}

# tell_totals: the tests that failed, the steps that failed, and `N passed, N failed, N skipped` over all that ran; fails if anything did.
tell_totals() {
    local totals
    totals=$(awk '
        function end_program() {
            # A signal, or exit: cargo tells no more of it.
            if (program != "") { failed++; names[++all] = program ": ended without a result" }
            program = ""
        }
        { gsub(/\033\[[0-9;]*m/, "") }
        # What failed tests have printed comes between their names and the list of them.
        /^---- .* stdout ----$/ { is_printed = 1 }
        /^failures:$/ { is_printed = 0; listed = 0 }
        is_printed { next }
        /^ +Running .*\)$/ || /^ +Doc-tests / { end_program(); program = $0; sub(/^ +[^ ]+ /, "", program); listed = 0 }
        /^    [^ ]/ { list[++listed] = substr($0, 5) }
        /^test result: / {
            passed += $4; failed += $6; skipped += $8
            for (i = 1; $6 > 0 && i <= listed; i++) names[++all] = list[i]
            program = ""; listed = 0
        }
        END {
            end_program()
            if (all > 0) print "failed tests:"
            for (i = 1; i <= all; i++) print "    " names[i]
            printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        }' "$test_output")
    echo
    [[ $totals != *$'\n'* ]] || printf '%s\n' "${totals%$'\n'*}"
    tell_failed_steps
    printf '%s\n' "${totals##*$'\n'}"
    [ ${#failed_steps[@]} -eq 0 ] && [[ $totals == *" passed, 0 failed, "* ]]
}
