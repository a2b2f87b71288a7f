/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed FILE NAME: prints a file as a C array, `const char NAME[]` with `const unsigned long NAME_bytes`.  Run by the
 * build, so that whoever builds needs neither Node nor Python for the page.
 */
#include <stdio.h>

int main(int argc, char **argv)
{
    unsigned long bytes = 0;
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;

    if (in == NULL) {
        fprintf(stderr, "usage: embed FILE NAME, with a FILE that can be read\n");
        return 1;
    }
    printf("extern const char %s[];\nextern const unsigned long %s_bytes;\nconst char %s[] = {", argv[2], argv[2],
           argv[2]);
    for (int byte = getc(in); byte != EOF; byte = getc(in), bytes++)
        printf("%s%d,", bytes % 32 ? "" : "\n", (signed char)byte);
    printf("\n0};\nconst unsigned long %s_bytes = %luul;\n", argv[2], bytes);
    return ferror(in) || fclose(in) != 0 || fflush(stdout) != 0;
}
