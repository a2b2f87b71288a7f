/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands for NX-OS and EOS out of texts made to hurt: the work grows with the text, not with its square.  What the
 * commands are is held by tests/cli/test_fix.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/fix.h"
#include "growth.h"
#include "testing.h"

/* A text of `things` of each kind; what runs differs from what is approved in every one of them. */
static char *text_of(unsigned things, bool approved)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    assert_non_null(to);
    for (unsigned i = 0; i < things && !approved; i++) /* policies that are applied, and are taken off */
        fprintf(to, "policy-map type qos ROCELAB-X%u\n  class class-default\n    set qos-group 0\n", i);
    fputs("qos profile ROCELAB\n  priority-flow-control on\n", to);
    for (unsigned i = 0; i < things; i++) { /* commands outside of all blocks */
        if (!approved) fprintf(to, "flowcontrol receive word%u on\n", i);
        fprintf(to, "flowcontrol send word%u %s\n", i, approved ? "on" : "off");
    }
    for (unsigned i = 0; i < things; i++) { /* ports */
        fprintf(to, "interface Ethernet%u\n  mtu %u\n", i, approved ? 9214 : 1500);
        if (approved) fputs("  service-profile ROCELAB\n", to);
        if (!approved) fprintf(to, "  no priority-flow-control\n  service-policy type qos input ROCELAB-X%u\n", i);
    }
    fclose(to);
    return text;
}

static uint64_t write_commands(unsigned things)
{
    char *approved = text_of(things, true), *running = text_of(things, false), *commands = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&commands, &length);

    assert_non_null(to);
    const struct fix fix = {&config_eos, approved, running, running, FIX_ALL, to, NULL};
    uint64_t begun = growth_ns();
    assert_int_equal(config_eos.fix(&fix), 0);
    uint64_t took = growth_ns() - begun;
    fclose(to);
    assert_non_null(strstr(commands, "interface Ethernet1\n  priority-flow-control on\n  "
                                     "no service-policy type qos input ROCELAB-X1\n  mtu 9214\n"));
    assert_non_null(strstr(commands, "\nno policy-map type qos ROCELAB-X1\n"));
    assert_non_null(strstr(commands, "flowcontrol send word1 on\n"));
    assert_non_null(strstr(commands, "no flowcontrol receive word1 on\n"));
    free(commands);
    free(approved);
    free(running);
    return took;
}

static void test_growth(void **state)
{
    (void)state;
    expect_growth(write_commands, 250, 4000, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_growth)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
