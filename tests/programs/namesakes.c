/* Functions of a library that has nothing to do with MPI, but names them as Fortran compilers name MPI's. */
int mpi_get(int one, int other)
{
    return one * 100 + other;
}

int mpi_test_(const char *text)
{
    return text[0];
}

int mpi_irecv(int one, int two, int three, int four)
{
    return one * 1000 + two * 100 + three * 10 + four;
}

int mpi_init(int one)
{
    return one + 1;
}

int mpi_pcontrol_(int one)
{
    return one + 2;
}
