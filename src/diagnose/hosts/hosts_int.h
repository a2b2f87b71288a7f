/* SPDX-License-Identifier: Apache-2.0 */
/* What of hosts is said without a rate: by logs (said.c) and by one look (look.c). */
#ifndef ROCELAB_DIAGNOSE_HOSTS_HOSTS_INT_H
#define ROCELAB_DIAGNOSE_HOSTS_HOSTS_INT_H

#include "diagnose/nics_int.h"

/* Part of D02, by logs. */
void storms_said(struct diagnose *diagnose);
/* Parts of D03, D14, D15 and D28. */
void hosts_look(struct diagnose *diagnose);

#endif
