/* As lines.c: templates, lambdas, virtual functions, exceptions that are thrown across nothing of MPI's, static initialization. */
#include "lines.h"

#include <functional>
#include <stdexcept>
#include <vector>

namespace grid {
struct Step {
    virtual ~Step() = default;
    virtual void run(MPI_Comm comm) const = 0;
};

template <typename T> struct Sum : Step {
    void run(MPI_Comm comm) const override
    {
        T value{}, sum;
        AT("WORLD", MPI_Allreduce, sizeof(T), sizeof(T), &value, &sum, sizeof(T), MPI_BYTE, MPI_BOR, comm);
    }
};

template <typename F> [[gnu::noinline]] void twice(F f)
{
    f();
    f();
}

[[gnu::noinline]] void throws(int depth)
{
    if (depth == 0)
        throw std::runtime_error("enough");
    AT("WORLD", MPI_Barrier, 0, 0, MPI_COMM_WORLD);
    throws(depth - 1);
}
}

int main(int argc, char **argv)
{
    AT("WORLD", MPI_Init, 0, 0, &argc, &argv);
    lines_begin();
    grid::Sum<int> narrow;
    grid::Sum<double> wide;
    std::vector<const grid::Step *> steps{&narrow, &wide, &narrow};
    for (const auto *step : steps)
        step->run(MPI_COMM_WORLD);
    grid::twice([] { AT("WORLD", MPI_Barrier, 0, 0, MPI_COMM_WORLD); });
    std::function<void(int)> bcast = [](int root) {
        int value = 0, rank;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        AT("WORLD", MPI_Bcast, rank == root ? 4 : 0, rank == root ? 0 : 4, &value, 1, MPI_INT, root, MPI_COMM_WORLD);
    };
    bcast(0);
    bcast(1);
    try {
        grid::throws(3);
    } catch (const std::runtime_error &) {
        AT("WORLD", MPI_Barrier, 0, 0, MPI_COMM_WORLD);
    }
    AT("WORLD", MPI_Finalize, 0, 0, );
    return 0;
}
