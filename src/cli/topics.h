/* SPDX-License-Identifier: Apache-2.0 */
/* What topics.def names: lists of the program that users ask for, as text.  Each is false after a message. */
#ifndef ROCELAB_CLI_TOPICS_H
#define ROCELAB_CLI_TOPICS_H

#include <stdbool.h>
#include <stdio.h>

/* A list that is no document: false after a message where JSON is asked for. */
bool cli_topic_is_text(bool json);
/* What the value of an experiment's measure can ask of a run. */
bool cli_list_calls(const char *none, bool json, FILE *out);
/* Presets of congestion control; of an algorithm, or of a plug-in's file, the parameters. */
bool cli_list_congestion(const char *name, bool json, FILE *out);
/* Kinds of events. */
bool cli_list_events(const char *none, bool json, FILE *out);
/* Rules of the verdict about a capture. */
bool cli_list_findings(const char *none, bool json, FILE *out);
/* What the acceptance plan judges by, what parts cost, how often they fail: where a fabric file does not say it. */
bool cli_list_criteria(const char *none, bool json, FILE *out);
bool cli_list_prices(const char *none, bool json, FILE *out);
bool cli_list_rates(const char *none, bool json, FILE *out);
/* Switch models, with the products that have them. */
bool cli_list_models(const char *none, bool json, FILE *out);
/* The ROCELAB_* variables. */
bool cli_list_variables(const char *none, bool json, FILE *out);
/* What is understood of the lines of a system's configuration; NULL: of which systems there is such a list. */
bool cli_list_statements(const char *system, bool json, FILE *out);

#endif
