/*
 * classes.h - program classes: how the programs of a job are saved and restarted, as administrators set it with qmgr.
 *
 * A class is an object (settings/objects.h). A job that names none has the defaults of the table. Two classes are there always, `script` and `spmd`; what
 * an administrator sets of them is stored as of any other. Whether a job makes checkpoints at all, and how often, its own
 * words say (`qsub -c`).
 */
#ifndef SERVER_CLASSES_H
#define SERVER_CLASSES_H

#include <stdint.h>

#include "rules/object.h"

struct server;
struct spec;

/* The class that a text means: in its own spelling, or without regard to case. NULL: there is none. */
const char *class_meant(const struct server *s, const char *text);
/* A job's, or the defaults. */
const struct attrs *class_attrs(const struct server *s, const struct spec *p);
/* A number that the class may set, else the server's. */
int64_t class_number(const struct server *s, const struct spec *p, const char *name);
bool class_bool(const struct server *s, const struct spec *p, const char *name); /* the same */
bool class_is_spmd(const struct server *s, const struct spec *p); /* its script is run once for each processor */
/* Seconds that a checkpoint of a job may take; 0: it makes none. */
int64_t class_saving(const struct server *s, const struct spec *p);
/* Jobs that name it and have not ended. */
int64_t class_jobs(const struct server *s, const struct object *x);

#endif
