/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of two 64-bit quantities, exact.
 */
#ifndef ROCELAB_BASE_WIDE_H
#define ROCELAB_BASE_WIDE_H

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;

#endif
