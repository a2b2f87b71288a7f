/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash of bytes for tables of names that come from outside: SipHash-1-3 under a secret, so that nobody can choose
 * names that fall together.  Its values differ from process to process: nothing that is printed may follow from them.
 */
#ifndef ROCELAB_BASE_HASH_SECRET_H
#define ROCELAB_BASE_HASH_SECRET_H

#include <stddef.h>
#include <stdint.h>

struct hash_secret {
    uint64_t word[2];
};
/* From the system's random numbers. */
void hash_secret_init(struct hash_secret *secret);
/* Of `first` and then the bytes. */
uint64_t hash_secret(const struct hash_secret *secret, uint64_t first, const void *bytes, size_t length);

#endif
