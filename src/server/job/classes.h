/*
 * classes.h - program classes: how the programs of a job are saved and restarted, as administrators
 * set it with qmgr.
 *
 * A class is an object (settings/objects.h). A job that names no class has the defaults of the
 * table. Two classes always exist, `script` and `spmd`; their settings are stored like those of any
 * other class. Whether and how often a job makes checkpoints is set by the job itself (`qsub -c`).
 */
#ifndef SERVER_CLASSES_H
#define SERVER_CLASSES_H

#include <stdint.h>

#include "rules/object.h"

struct server;
struct spec;

/* Returns the name of the class that a text means: an exact match first, then ignoring case. NULL:
 * not found. */
const char *class_meant(const struct server *s, const char *text);
/* Returns the attributes of a job's class, or the defaults. */
const struct attrs *class_attrs(const struct server *s, const struct spec *p);
/* Returns a number that the class may set; otherwise the server's. */
int64_t class_number(const struct server *s, const struct spec *p, enum attr_key key);
/* Returns a boolean likewise. */
bool class_bool(const struct server *s, const struct spec *p, enum attr_key key);
/* Returns true if the script is run once for each processor. */
bool class_is_spmd(const struct server *s, const struct spec *p);
/* Returns the seconds that a checkpoint of a job may take; 0: it makes none. */
int64_t class_saving(const struct server *s, const struct spec *p);
/* Counts the jobs that name the class and have not ended. */
int64_t class_jobs(const struct server *s, const struct object *x);

#endif
