/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AUDIT: a look at whole tables where they are complete, in builds that are not optimized: a developer's, and those
 * with sanitizers.  It costs as much as what it looks at, so the product goes without; tests of an optimized build and
 * fuzz targets call the audits themselves.
 */
#ifndef ROCELAB_BASE_AUDIT_H
#define ROCELAB_BASE_AUDIT_H

#ifdef __OPTIMIZE__
#define AUDIT(call) ((void)0)
#else
#define AUDIT(call) (call)
#endif

#endif
