/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several DCQCN senders and one queue, packet by packet, to hold the simulator against.
 *
 * Written from the published algorithm (Zhu et al., SIGCOMM 2015) and not from src, in floating point and with
 * nothing else in it: no headers, no PFC, no ACKs, one FIFO.  It differs from the simulator in everything that is not
 * the algorithm, so where the two agree, the algorithm decides.  The notification point either remembers a mark that
 * comes within 50 us of a CNP and sends the next CNP at the end of that time (as published), or forgets it.
 *
 *     dcqcn_senders SENDERS remembers|forgets enqueue|dequeue KMAX_BYTES PMAX SECONDS
 *
 * prints the mean queue in KB and the use of the line in Gb/s over the last two thirds.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SENDERS 64
#define RING (1u << 16) /* packets; more than any queue here gets */
#define NEVER 1e9
#define LINE_BPS 40e9
#define PACKET_BYTES 1000.0
#define PACKET_BITS 8000.0
#define KMIN_BYTES 5000.0
#define CNP_GAP_S 50e-6
#define TIMER_S 55e-6
#define ALPHA_S 55e-6
#define ONE_WAY_S 2e-6
#define COUNTER_BITS 80e6
#define RECOVERY 5
#define AI_BPS 40e6
#define HAI_BPS 400e6
#define G (1 / 256.0)

struct sender {
    double rate, target, alpha, bits_left;
    double packet_at, timer_at, alpha_at;
    double window_at; /* end of the 50 us after a CNP */
    bool cut_once, marked;
    int timer, bytes; /* increases since the last cut */
};

struct arrival { /* at the receiver, or of a CNP at the sender */
    double at;
    int sender;
    bool marked;
};

struct pipe {
    struct arrival item[RING];
    uint32_t head, tail;
};

static struct sender sender[MAX_SENDERS];
static struct pipe queue, wire, cnps;
static int senders;
static bool remembers, at_dequeue;
static double kmax_bytes, pmax, queue_bytes, now;
static uint64_t random_state = 88172645463325252u;

static double uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static void push(struct pipe *p, double at, int who, bool marked)
{
    if (p->tail - p->head == RING) abort();
    p->item[p->tail++ % RING] = (struct arrival){.at = at, .sender = who, .marked = marked};
}

static double first(const struct pipe *p)
{
    return p->head == p->tail ? NEVER : p->item[p->head % RING].at;
}

static bool mark(void)
{
    if (queue_bytes <= KMIN_BYTES) return false;
    if (queue_bytes > kmax_bytes) return true;
    return uniform() < pmax * (queue_bytes - KMIN_BYTES) / (kmax_bytes - KMIN_BYTES);
}

static void increase(struct sender *s)
{
    int least = s->timer < s->bytes ? s->timer : s->bytes, most = s->timer > s->bytes ? s->timer : s->bytes;

    if (most >= RECOVERY) s->target += least > RECOVERY ? HAI_BPS : AI_BPS;
    if (s->target > LINE_BPS) s->target = LINE_BPS;
    s->rate = (s->rate + s->target) / 2;
}

static void cut(struct sender *s)
{
    s->cut_once = true;
    s->target = s->rate;
    s->rate *= 1 - s->alpha / 2;
    if (s->rate < 1e6) s->rate = 1e6;
    s->alpha = (1 - G) * s->alpha + G;
    s->timer = s->bytes = 0;
    s->bits_left = COUNTER_BITS;
    s->timer_at = now + TIMER_S;
    s->alpha_at = now + ALPHA_S;
}

static void send_packet(int who)
{
    struct sender *s = &sender[who];

    push(&queue, now, who, !at_dequeue && mark());
    queue_bytes += PACKET_BYTES;
    s->packet_at = now + PACKET_BITS / s->rate;
    if (!s->cut_once) return;
    s->bits_left -= PACKET_BITS;
    if (s->bits_left > 0) return;
    s->bits_left = COUNTER_BITS;
    increase(s);
    s->bytes++;
}

static void serve(void)
{
    struct arrival a = queue.item[queue.head++ % RING];

    queue_bytes -= PACKET_BYTES;
    push(&wire, now + ONE_WAY_S, a.sender, at_dequeue ? mark() : a.marked);
}

static void cnp(int who)
{
    push(&cnps, now + ONE_WAY_S, who, false);
    sender[who].window_at = now + CNP_GAP_S;
    sender[who].marked = false;
}

static void receive(void)
{
    struct arrival a = wire.item[wire.head++ % RING];

    if (!a.marked) return;
    if (sender[a.sender].window_at < NEVER)
        sender[a.sender].marked = true;
    else
        cnp(a.sender);
}

static void window_ends(int who)
{
    sender[who].window_at = NEVER;
    if (remembers && sender[who].marked) cnp(who);
}

static void timer(struct sender *s)
{
    s->timer_at = now + TIMER_S;
    increase(s);
    s->timer++;
}

/* The next event of a sender, and when. */
static double sender_first(const struct sender *s)
{
    return fmin(fmin(s->packet_at, s->timer_at), fmin(s->alpha_at, s->window_at));
}

static void sender_event(int who)
{
    struct sender *s = &sender[who];

    if (s->packet_at == now) {
        send_packet(who);
    } else if (s->timer_at == now) {
        timer(s);
    } else if (s->alpha_at == now) {
        s->alpha *= 1 - G;
        s->alpha_at = now + ALPHA_S;
    } else {
        window_ends(who);
    }
}

static void run(double seconds)
{
    double area = 0, sent = 0, warm = seconds / 3, served_at = NEVER;

    while (now < seconds) {
        double next = fmin(fmin(served_at, first(&wire)), first(&cnps)), before = now;
        int who = -1;
        for (int i = 0; i < senders; i++) {
            double at = sender_first(&sender[i]);
            if (at >= next) continue;
            next = at;
            who = i;
        }
        now = next;
        if (now > warm) area += queue_bytes * (now - fmax(before, warm));
        if (who >= 0) {
            sender_event(who);
        } else if (served_at == now) {
            serve();
            if (now > warm) sent += PACKET_BITS;
            served_at = NEVER;
        } else if (first(&wire) == now) {
            receive();
        } else {
            cut(&sender[cnps.item[cnps.head++ % RING].sender]);
        }
        if (served_at == NEVER && queue.head != queue.tail) served_at = now + PACKET_BITS / LINE_BPS;
    }
    printf("%.2f %.3f\n", area / (seconds - warm) / 1000, sent / (seconds - warm) / 1e9);
}

int main(int argc, char **argv)
{
    if (argc != 7) return 2;
    senders = (int)strtol(argv[1], NULL, 10);
    remembers = strcmp(argv[2], "remembers") == 0;
    at_dequeue = strcmp(argv[3], "dequeue") == 0;
    kmax_bytes = strtod(argv[4], NULL);
    pmax = strtod(argv[5], NULL);
    if (senders < 1 || senders > MAX_SENDERS) return 2;
    for (int i = 0; i < senders; i++)
        sender[i] = (struct sender){.rate = LINE_BPS,
                                    .target = LINE_BPS,
                                    .alpha = 1,
                                    .packet_at = uniform() * 1e-6,
                                    .timer_at = NEVER,
                                    .alpha_at = NEVER,
                                    .window_at = NEVER};
    run(strtod(argv[6], NULL));
    return 0;
}
