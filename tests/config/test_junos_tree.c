/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Junos texts as trees of words: both forms are one tree, groups and ranges are written out, what is inactive is gone,
 * odd texts are read as far as they go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/junos/tree.h"

#include "fabric/errors.h"

struct read { /* a text, and what became of it */
    struct config_set set;
    struct fabric_errors errors;
    struct config_text text;
    struct arena arena;
    struct junos_tree tree;
    int result;
};

static void read_text(struct read *as, const char *text)
{
    memset(as, 0, sizeof(*as));
    config_set_init(&as->set);
    arena_init(&as->arena, (size_t)1 << 30);
    as->text = (struct config_text){.path = "x.conf", .text = text, .length = strlen(text), .errors = &as->errors};
    as->tree = (struct junos_tree){.set = &as->set, .text = &as->text, .arena = &as->arena};
    as->result = junos_tree_read(&as->tree);
    if (as->result == 0) junos_tree_expand(&as->tree, CONFIG_NONE);
}

static void forget(struct read *as)
{
    arena_release(&as->arena);
    config_set_release(&as->set);
}

/* Every leaf as its path of words, a line each; lines: with its number. */
static char *leaves(const struct junos_node *root, bool lines)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    assert_non_null(to);
    for (struct junos_node *at = junos_next_below(root, NULL); at; at = junos_next_below(root, at)) {
        const struct junos_node *chain[JUNOS_DEEP];
        unsigned count = 0;
        if (at->first) continue;
        for (const struct junos_node *up = at; up->depth; up = up->parent)
            chain[count++] = up;
        if (lines) fprintf(to, "%u: ", at->line);
        for (; count; count--)
            fprintf(to, "%s%s", chain[count - 1]->word, count > 1 ? " " : "\n");
    }
    fclose(to);
    return text;
}

static void becomes(const char *text, const char *want, bool lines)
{
    struct read as;

    read_text(&as, text);
    assert_int_equal(as.result, 0);
    char *got = leaves(&as.tree.root, lines);
    assert_string_equal(got, want);
    free(got);
    forget(&as);
}

static const char braces[] = "## Last changed: yesterday\n"
                             "system {\n"
                             "    host-name leaf1; ## the name\n"
                             "}\n"
                             "/* a comment\n"
                             "   of two lines */\n"
                             "class-of-service {\n"
                             "    drop-profiles {\n"
                             "        dp1 {\n"
                             "            interpolate {\n"
                             "                fill-level [ 55 90 ];\n"
                             "            }\n"
                             "        }\n"
                             "    }\n"
                             "    forwarding-classes {\n"
                             "        class NO-LOSS queue-num 4 no-loss;\n"
                             "    }\n"
                             "}\n"
                             "interfaces {\n"
                             "    et-0/0/1 {\n"
                             "        description \"to h1; port {2}\";\n"
                             "        inactive: mtu 1500;\n"
                             "    }\n"
                             "}\n";

static void test_braces(void **state)
{
    (void)state;
    becomes(braces,
            "3: system host-name leaf1\n"
            "11: class-of-service drop-profiles dp1 interpolate fill-level 55\n"
            "11: class-of-service drop-profiles dp1 interpolate fill-level 90\n"
            "16: class-of-service forwarding-classes class NO-LOSS queue-num 4 no-loss\n"
            "21: interfaces et-0/0/1 description to h1; port {2}\n",
            true);
}

static void test_commands(void **state)
{
    (void)state;
    becomes("user@leaf1# set system host-name leaf1\n"
            "set interfaces et-0/0/1 description \"to h1; port {2}\"\n"
            "set interfaces et-0/0/1 mtu 9000\n"
            "set interfaces et-0/0/1 mtu 1500\n"
            "set interfaces et-0/0/1 mtu 9000\n" /* the last word counts */
            "set interfaces et-0/0/2 disable\n"
            "deactivate interfaces et-0/0/2\n"
            "set interfaces et-0/0/3 disable\n"
            "delete interfaces et-0/0/3 disable\n"
            "edit class-of-service schedulers s1\n"
            "set transmit-rate percent 5\n"
            "top set class-of-service drop-profiles dp1 interpolate fill-level [ 55 90 ] drop-probability [ 0 80 ]\n",
            "1: system host-name leaf1\n"
            "2: interfaces et-0/0/1 description to h1; port {2}\n"
            "4: interfaces et-0/0/1 mtu 1500\n"
            "5: interfaces et-0/0/1 mtu 9000\n"
            "8: interfaces et-0/0/3\n"
            "11: class-of-service schedulers s1 transmit-rate percent 5\n"
            "12: class-of-service drop-profiles dp1 interpolate fill-level 55\n"
            "12: class-of-service drop-profiles dp1 interpolate fill-level 90\n"
            "12: class-of-service drop-profiles dp1 interpolate drop-probability 0\n"
            "12: class-of-service drop-profiles dp1 interpolate drop-probability 80\n",
            true);
}

static void test_parts(void **state)
{
    (void)state;
    becomes("[edit class-of-service]\nschedulers {\n    s1 {\n        priority low;\n    }\n}\n",
            "class-of-service schedulers s1 priority low\n", false);
    becomes("schedulers {\n    s1 {\n        priority low;\n    }\n}\n",
            "class-of-service schedulers s1 priority low\n", false);
    becomes("{master:0}\nuser@leaf1> show configuration\nsystem {\n    host-name a;\n}\n", "system host-name a\n",
            false);
}

static void test_groups(void **state)
{
    (void)state;
    becomes("groups {\n    jumbo {\n        interfaces {\n            <et-*> {\n                mtu 9216;\n"
            "                hold-time up 1;\n            }\n        }\n    }\n}\n"
            "apply-groups jumbo;\n"
            "interfaces {\n    et-0/0/1 {\n        mtu 1500;\n    }\n    xe-0/0/2 {\n        disable;\n    }\n}\n",
            "11: apply-groups jumbo\n"
            "6: interfaces et-0/0/1 hold-time up 1\n"
            "5: interfaces et-0/0/1 mtu 9216\n" /* and the port's own, which is the last, counts */
            "14: interfaces et-0/0/1 mtu 1500\n"
            "17: interfaces xe-0/0/2 disable\n",
            true);
    becomes(
        "set groups g interfaces et-0/0/1 mtu 9216\nset interfaces apply-groups g\nset interfaces et-0/0/2 disable\n",
        "interfaces et-0/0/1 mtu 9216\ninterfaces apply-groups g\ninterfaces et-0/0/2 disable\n", false);
}

static void test_ranges(void **state)
{
    (void)state;
    becomes("interfaces {\n    interface-range up {\n        member et-0/0/9;\n"
            "        member-range et-0/0/1 to et-0/0/2;\n        member et-0/0/[3-4];\n        mtu 9216;\n    }\n"
            "    et-0/0/2 {\n        mtu 4000;\n    }\n}\n",
            "6: interfaces et-0/0/2 mtu 9216\n"
            "9: interfaces et-0/0/2 mtu 4000\n"
            "6: interfaces et-0/0/9 mtu 9216\n"
            "6: interfaces et-0/0/3 mtu 9216\n"
            "6: interfaces et-0/0/4 mtu 9216\n"
            "6: interfaces et-0/0/1 mtu 9216\n",
            true);
}

static void test_patterns(void **state)
{
    (void)state;
    assert_true(junos_matches("et-*", "et-0/0/1"));
    assert_true(junos_matches("<*>", "anything"));
    assert_true(junos_matches("<et-*:*>", "et-0/0/1:0"));
    assert_true(junos_matches("et-0/0/[0-5]", "et-0/0/3"));
    assert_true(junos_matches("*", ""));
    assert_false(junos_matches("et-0/0/[0-5]", "et-0/0/7"));
    assert_false(junos_matches("et-*", "xe-0/0/1"));
    assert_false(junos_matches("et-0/0/1", "et-0/0/10"));
    assert_false(junos_matches("<et-*:*>", "et-0/0/1"));
}

static unsigned notes(const struct read *as, uint32_t line)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < as->set.notes; i++)
        count += as->set.note[i].at.line == line;
    return count;
}

static void test_odd_texts(void **state)
{
    static const struct {
        const char *text;
        uint32_t line;
    } odd[] = {
        {"chassis {\n    fpc 0\n    fpc 1;\n}\n", 2},
        {"system {\n    host-name a;\n}\n}\nchassis {\n    x;\n}\n", 4},
        {"system {\n    host-name a;\n", 3},
        {"set system host-name a\nrename interfaces et-0/0/1 to et-0/0/2\n", 2},
        {"system {\n    host-name a;\n}\napply-groups none;\n", 4},
        {"interfaces {\n    interface-range r {\n        member-range et-0/0/9 to et-0/0/2;\n    }\n}\n", 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct read as;
        read_text(&as, odd[i].text);
        assert_int_equal(as.result, 0);
        if (notes(&as, odd[i].line) != 1) fail_msg("nothing is noted of line %u of %s", odd[i].line, odd[i].text);
        forget(&as);
    }
}

/* Many words, deep blocks, groups over groups: an end in all of them. */
static void test_hostile_texts(void **state)
{
    struct read as;
    size_t size = 1 << 20;
    char *text = malloc(size + 1);

    (void)state;
    assert_non_null(text);
    memset(text, '{', size);
    for (size_t i = 0; i < size; i += 2)
        text[i] = 'a';
    text[size] = 0;
    read_text(&as, text);
    assert_int_not_equal(as.result, 0);
    assert_true(as.errors.count > 0);
    forget(&as);
    memset(text, ' ', size);
    for (size_t i = 0; i + 4 < size; i += 4)
        memcpy(text + i, "top ", 4);
    memcpy(text, "set a b\n", 8);
    read_text(&as, text);
    assert_int_equal(as.result, 0);
    forget(&as);
    free(text);
    read_text(&as,
              "groups {\n    g {\n        <*> {\n            <*> {\n                apply-groups g;\n            }\n"
              "        }\n    }\n}\na {\n    b {\n        apply-groups g;\n    }\n}\n");
    assert_int_equal(as.result, 0);
    forget(&as);
}

/* A word that is set and deleted again and again leaves nothing behind, and those beside it are still found. */
static void test_comes_and_goes(void **state)
{
    struct read as;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    uint32_t held = 0;

    (void)state;
    assert_non_null(to);
    for (unsigned i = 0; i < 300; i++)
        fprintf(to, "set a w%u\n", i);
    for (unsigned i = 0; i < 5000; i++)
        fprintf(to, "set a b\ndelete a b\n");
    for (unsigned i = 0; i < 300; i += 2)
        fprintf(to, "delete a w%u\n", i);
    fclose(to);
    read_text(&as, text);
    assert_int_equal(as.result, 0);
    const struct junos_node *a = junos_child(&as.tree, &as.tree.root, "a");
    for (uint32_t i = 0; i < as.tree.slots; i++)
        held += as.tree.slot[i] != NULL;
    assert_int_equal(held, 151);
    for (unsigned i = 0; i < 300; i++) {
        char word[8];
        snprintf(word, sizeof(word), "w%u", i);
        assert_int_equal(junos_child(&as.tree, a, word) != NULL, i % 2);
    }
    forget(&as);
    free(text);
}

/* A pattern against a word is work of both lengths. */
static void test_long_words(void **state)
{
    struct read as;
    size_t size = 200000;
    char *text = malloc(size + 1);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text, "set system host-name a\nset system ", 34);
    text[size] = 0;
    read_text(&as, text);
    assert_int_equal(as.result, 0);
    assert_int_equal(strlen(as.tree.root.first->last->word), JUNOS_WORD);
    assert_int_equal(notes(&as, 2), 1);
    forget(&as);
    free(text);
}

/* The text is read, and too much of it is written out: the rest is left out, with a note. */
static void too_much(char *text)
{
    struct read as;

    read_text(&as, text);
    assert_int_equal(as.result, 0);
    assert_true(as.tree.full);
    unsigned told = 0;
    for (uint32_t i = 0; i < as.set.notes; i++)
        told += strstr(as.set.note[i].message, "more than is followed") != NULL;
    assert_int_equal(told, 1);
    forget(&as);
    free(text);
}

/* Work is counted over all groups and over all ranges, whether it adds a word or not. */
static void test_bounded_work(void **state)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    (void)state;
    assert_non_null(to);
    for (unsigned i = 0; i < 2100; i++)
        fprintf(to, "set groups g x%u y\nset p%u apply-groups g\n", i, i);
    fclose(to);
    too_much(text);
    to = open_memstream(&text, &length);
    assert_non_null(to);
    for (unsigned i = 0; i < 1100; i++)
        fprintf(to, "set interfaces interface-range r%u member-range et-0/0/0 to et-0/0/4000\n", i);
    fclose(to);
    too_much(text);
    to = open_memstream(&text, &length);
    assert_non_null(to);
    for (unsigned i = 0; i < 2100; i++)
        fprintf(to, "set interfaces interface-range r%u member xe-*\nset interfaces et-0/0/%u disable\n", i, i);
    fclose(to);
    too_much(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_braces),     cmocka_unit_test(test_commands),      cmocka_unit_test(test_parts),
        cmocka_unit_test(test_groups),     cmocka_unit_test(test_ranges),        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_odd_texts),  cmocka_unit_test(test_hostile_texts), cmocka_unit_test(test_comes_and_goes),
        cmocka_unit_test(test_long_words), cmocka_unit_test(test_bounded_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
