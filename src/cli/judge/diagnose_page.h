/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of a diagnosis: its document, and the run that it is of.
 */
#ifndef ROCELAB_CLI_DIAGNOSE_PAGE_H
#define ROCELAB_CLI_DIAGNOSE_PAGE_H

#include "cli/html.h"
#include "report/diagnosis/diagnosis.h"

/* Writes it, if one is wanted.  False after a message. */
bool diagnose_page(struct cli_html *html, const struct diagnose_report *report);

#endif
