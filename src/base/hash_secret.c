/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-1-3 (Aumasson and Bernstein): one round for each word, three at the end. */
#include "base/hash_secret.h"

#include <string.h>
#include <sys/random.h>

struct sip {
    uint64_t a, b, c, d;
};

static uint64_t turned(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void round_once(struct sip *sip)
{
    sip->a += sip->b;
    sip->c += sip->d;
    sip->b = turned(sip->b, 13) ^ sip->a;
    sip->d = turned(sip->d, 16) ^ sip->c;
    sip->a = turned(sip->a, 32);
    sip->c += sip->b;
    sip->a += sip->d;
    sip->b = turned(sip->b, 17) ^ sip->c;
    sip->d = turned(sip->d, 21) ^ sip->a;
    sip->c = turned(sip->c, 32);
}

static void mix_word(struct sip *sip, uint64_t word)
{
    sip->d ^= word;
    round_once(sip);
    sip->a ^= word;
}

void hash_secret_init(struct hash_secret *secret)
{
    if (getrandom(secret, sizeof *secret, GRND_NONBLOCK) != (ssize_t)sizeof *secret) /* no secret then, and works */
        *secret = (struct hash_secret){{0x243f6a8885a308d3u, 0x13198a2e03707344u}};
}

uint64_t hash_secret(const struct hash_secret *secret, uint64_t first, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    struct sip sip = {secret->word[0] ^ 0x736f6d6570736575u, secret->word[1] ^ 0x646f72616e646f6du,
                      secret->word[0] ^ 0x6c7967656e657261u, secret->word[1] ^ 0x7465646279746573u};
    uint64_t word, last = (uint64_t)(length + sizeof first) << 56;

    mix_word(&sip, first);
    for (; length >= sizeof word; at += sizeof word, length -= sizeof word) {
        memcpy(&word, at, sizeof word);
        mix_word(&sip, word);
    }
    for (size_t i = 0; i < length; i++)
        last |= (uint64_t)at[i] << 8 * i;
    mix_word(&sip, last);
    sip.c ^= 0xff;
    for (unsigned i = 0; i < 3; i++)
        round_once(&sip);
    return sip.a ^ sip.b ^ sip.c ^ sip.d;
}
