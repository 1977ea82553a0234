/* An ABI of its own for some of MPI, as libraries have that let a program choose its MPI library when it starts: handles are addresses. */
typedef struct thing *Comm, *Datatype, *Op, *Request;
typedef struct {
    long source, tag, error, more[4];
} Status;
extern struct thing translated_world, translated_int, translated_sum;
#define WORLD (&translated_world)
#define INT (&translated_int)
#define SUM (&translated_sum)

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Get_library_version(char *version, int *length);
int MPI_Comm_rank(Comm comm, int *rank);
int MPI_Comm_size(Comm comm, int *size);
int MPI_Allreduce(const void *send, void *recv, int count, Datatype datatype, Op op, Comm comm);
int MPI_Isend(const void *buffer, int count, Datatype datatype, int to, int tag, Comm comm, Request *request);
int MPI_Irecv(void *buffer, int count, Datatype datatype, int from, int tag, Comm comm, Request *request);
int MPI_Waitall(int count, Request *requests, Status *statuses);
