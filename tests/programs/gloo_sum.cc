// SPDX-License-Identifier: Apache-2.0
//
// usage: gloo_sum FOLDER RANK RANKS
//
// A rank of a gloo context over its ibverbs transport, on the first device; ranks meet in FOLDER.  AllReduce in rings and
// by halving and doubling, broadcast, barriers: sums that are known, in sizes from one word to 2 MiB.  Each rank prints
// "gloo_sum: right", or says what was wrong.
//
// gloo aborts where an algorithm goes while a send of its own has no completion.  A barrier before that waits for one, by
// the order of completions: what a rank has sent before is done when the other's message of the barrier comes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>
#include <memory>
#include <string>
#include <vector>

using Words = std::vector<uint64_t>;

static void check(bool right, const char *what, size_t words)
{
    if (right) return;
    std::fprintf(stderr, "gloo_sum: %s of %zu words is wrong\n", what, words);
    std::exit(1);
}

template <class Algorithm>
static void sum(std::shared_ptr<gloo::Context> context, gloo::BarrierAllToAll &barrier, size_t words, const char *what)
{
    Words data(words);
    std::vector<uint64_t *> pointers{data.data()};
    Algorithm algorithm(context, pointers, static_cast<int>(words));
    uint64_t ranks = static_cast<uint64_t>(context->size), rank = static_cast<uint64_t>(context->rank);

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < words; i++)
            data[i] = i * (rank + 1) + static_cast<uint64_t>(round);
        algorithm.run();
        for (size_t i = 0; i < words; i++)
            check(data[i] == i * ranks * (ranks + 1) / 2 + ranks * static_cast<uint64_t>(round), what, words);
    }
    barrier.run();
}

static void broadcast(std::shared_ptr<gloo::Context> context, gloo::BarrierAllToAll &barrier, size_t words)
{
    Words data(words);
    std::vector<uint64_t *> pointers{data.data()};
    gloo::BroadcastOneToAll<uint64_t> algorithm(context, pointers, static_cast<int>(words), context->size - 1);

    for (size_t i = 0; i < words; i++)
        data[i] = i + static_cast<uint64_t>(context->rank) * words;
    algorithm.run();
    for (size_t i = 0; i < words; i++)
        check(data[i] == i + static_cast<uint64_t>(context->size - 1) * words, "broadcast", words);
    barrier.run();
}

int main(int argc, char **argv)
{
    check(argc == 4, "the number of arguments, not the sum", 0);
    gloo::transport::ibverbs::attr attr = {};
    attr.name = gloo::transport::ibverbs::getDeviceNames().at(0);
    attr.port = 1;
    attr.index = 0;
    auto device = gloo::transport::ibverbs::CreateDevice(attr);
    gloo::rendezvous::FileStore store(argv[1]);
    auto context = std::make_shared<gloo::rendezvous::Context>(std::stoi(argv[2]), std::stoi(argv[3]));

    context->connectFullMesh(store, device);
    auto &barrier = *new gloo::BarrierAllToAll(context); // stays, as its last messages may be under way
    for (size_t words = 1; words <= 1u << 18; words *= 8) {
        sum<gloo::AllreduceRing<uint64_t>>(context, barrier, words, "ring");
        sum<gloo::AllreduceRingChunked<uint64_t>>(context, barrier, words, "ring in chunks");
        sum<gloo::AllreduceHalvingDoubling<uint64_t>>(context, barrier, words, "halving and doubling");
        broadcast(context, barrier, words);
    }
    std::printf("gloo_sum: right\n");
    std::fflush(stdout);
    store.set("done " + std::string(argv[2]), {});
    std::vector<std::string> all;
    for (int rank = 0; rank < context->size; rank++)
        all.push_back("done " + std::to_string(rank));
    store.wait(all);
    std::_Exit(0);
}
