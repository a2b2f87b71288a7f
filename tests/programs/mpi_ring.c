/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MPI program whose answers are known: a token round the ring in sizes from eager to rendezvous, collectives, and
 * one-sided access.  Prints "mpi_ring: RANKS ranks: right" from rank 0, or says what was wrong and aborts.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS_MAX = 1 << 18 };

static int rank, ranks;

static void check(int right, const char *what)
{
    if (right) return;
    fprintf(stderr, "mpi_ring: rank %d: %s is wrong\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Each rank adds one to every word and passes the token on. */
static void ring(uint64_t *token, int words)
{
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

    for (int i = 0; i < words; i++)
        token[i] = (uint64_t)i;
    if (rank == 0) MPI_Send(token, words, MPI_UINT64_T, next, 7, MPI_COMM_WORLD);
    MPI_Recv(token, words, MPI_UINT64_T, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < words; i++) {
        check(token[i] == (uint64_t)i + (uint64_t)(rank == 0 ? ranks - 1 : rank - 1), "the token");
        token[i]++;
    }
    if (rank != 0) MPI_Send(token, words, MPI_UINT64_T, next, 7, MPI_COMM_WORLD);
}

static void collectives(uint64_t *mine, uint64_t *all, int words)
{
    uint64_t sum = (uint64_t)ranks * (uint64_t)(ranks - 1) / 2;

    for (int i = 0; i < words; i++)
        mine[i] = (uint64_t)rank + (uint64_t)i;
    MPI_Allreduce(mine, all, words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < words; i++)
        check(all[i] == sum + (uint64_t)ranks * (uint64_t)i, "MPI_Allreduce");
    MPI_Bcast(mine, words, MPI_UINT64_T, ranks - 1, MPI_COMM_WORLD);
    for (int i = 0; i < words; i++)
        check(mine[i] == (uint64_t)(ranks - 1) + (uint64_t)i, "MPI_Bcast");
    words /= ranks;
    for (int i = 0; i < words * ranks; i++)
        mine[i] = (uint64_t)(rank * ranks + i / words);
    MPI_Alltoall(mine, words, MPI_UINT64_T, all, words, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int i = 0; i < words * ranks; i++)
        check(all[i] == (uint64_t)(i / words * ranks + rank), "MPI_Alltoall");
}

/* Everybody adds to rank 0's counter and writes its own place. */
static void one_sided(void)
{
    uint64_t *shared, one = 1, me = (uint64_t)rank + 100;
    MPI_Win window;

    MPI_Win_allocate((MPI_Aint)sizeof(uint64_t) * (ranks + 1), sizeof(uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &shared,
                     &window);
    for (int i = 0; i <= ranks; i++)
        shared[i] = 0;
    MPI_Win_fence(0, window);
    MPI_Accumulate(&one, 1, MPI_UINT64_T, 0, 0, 1, MPI_UINT64_T, MPI_SUM, window);
    MPI_Put(&me, 1, MPI_UINT64_T, 0, rank + 1, 1, MPI_UINT64_T, window);
    MPI_Win_fence(0, window);
    for (int i = 0; rank == 0 && i < ranks; i++)
        check(shared[i + 1] == (uint64_t)i + 100, "MPI_Put");
    check(rank != 0 || shared[0] == (uint64_t)ranks, "MPI_Accumulate");
    MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
    uint64_t *mine = calloc(WORDS_MAX, sizeof *mine), *all = calloc(WORDS_MAX, sizeof *all);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(mine != NULL && all != NULL && ranks > 1, "memory, or the number of ranks");
    for (int words = 1; words <= WORDS_MAX; words *= 8) {
        ring(mine, words);
        if (words >= ranks) collectives(mine, all, words);
    }
    one_sided();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("mpi_ring: %d ranks: right\n", ranks);
    MPI_Finalize();
    free(mine);
    free(all);
    return 0;
}
