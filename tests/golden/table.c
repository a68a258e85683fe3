/*
 * table.c - shows test_wire.c the tables that are static in a source file: the file SOURCE is
 * included here, and its TABLES are a program's SHOWN.
 */
#include SOURCE

extern const void *const SHOWN[];
const void *const SHOWN[] = {TABLES};
