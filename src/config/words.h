/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of words, as one text with a blank between them.
 */
#ifndef ROCELAB_CONFIG_WORDS_H
#define ROCELAB_CONFIG_WORDS_H

#include <stdbool.h>
#include <string.h>

/* Is this word one of them?  A word has no blanks, so a text with one is none. */
static inline bool words_have(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; *word && !strchr(word, ' ') && (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return true;
    return false;
}

#endif
