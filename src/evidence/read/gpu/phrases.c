/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which phrase of a job's log a line has.  Every line of every text is asked, so the line is gone over once: at the
 * beginning of a word the phrases with that first letter are compared.
 */
#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include "evidence/read/gpu/jobs.h"

#define LETTERS 128

static const struct {
    const char *text;
    uint8_t length, what; /* enum phrase_what */
} phrases[] = {
#define PHRASE(text, what) {text, sizeof text - 1, PHRASE_##what},
#include "evidence/read/gpu/phrases.def"
#undef PHRASE
};
#define PHRASES (sizeof phrases / sizeof phrases[0])

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint8_t first[LETTERS + 1]; /* of a letter's phrases */

_Static_assert(PHRASES < UINT8_MAX, "first[] has bytes");

static void index_fill(void)
{
    for (size_t letter = 0; letter <= LETTERS; letter++)
        while (first[letter] < PHRASES && (unsigned char)*phrases[first[letter]].text < letter)
            first[letter]++;
}

enum phrase_what phrase_find(const char *line, struct text_field *ret_phrase)
{
    bool word = false;

    pthread_once(&once, index_fill);
    for (const char *at = line; *at; at++) {
        unsigned char letter = (unsigned char)*at;
        bool inside = word;
        word = isalnum(letter) || letter == '_';
        if (inside || letter >= LETTERS || first[letter] == first[letter + 1]) continue;
        size_t best = PHRASES;
        for (size_t i = first[letter]; i < first[letter + 1]; i++)
            if (phrases[i].text[1] == at[1] && !strncmp(phrases[i].text, at, phrases[i].length))
                best = i; /* sorted: the longest comes last */
        if (best == PHRASES) continue;
        *ret_phrase = (struct text_field){at, phrases[best].length};
        return (enum phrase_what)phrases[best].what;
    }
    return PHRASE_NONE;
}
