/*
 * meet_pmix.c - the PMIx server of a host. The only file that uses PMIx, whose interface changes
 * between versions.
 *
 * The library's thread calls on_...(), which queue an event, wake the loop and return at once; the
 * pending reply is kept as an `open` question until meet_answer(). Never call the library with the
 * lock held: it may call back.
 */
#include <errno.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "pmix/meet.h"

struct question {
	uint64_t id;
	pmix_modex_cbfunc_t answer;
	void *context;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t done;
	VEC(struct meet_event) event;
	VEC(struct question) question;
	uint64_t last_id;
	int wake;
	char space[PMIX_MAX_NSLEN + 1];
} meet = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .wake = -1};

/* ---- the queue ---- */

static void event_put(struct meet_event e)
{
	pthread_mutex_lock(&meet.lock);
	vec_push(&meet.event, e);
	pthread_mutex_unlock(&meet.lock);
	eventfd_write(meet.wake, 1);
}

static uint64_t question_put(pmix_modex_cbfunc_t answer, void *context)
{
	pthread_mutex_lock(&meet.lock);
	uint64_t id = ++meet.last_id;
	vec_push(&meet.question, (struct question){id, answer, context});
	pthread_mutex_unlock(&meet.lock);
	return id;
}

int meet_fd(void)
{
	return meet.wake;
}

bool meet_next(struct meet_event *ret)
{
	eventfd_t n;
	bool found = false;

	pthread_mutex_lock(&meet.lock);
	if (meet.event.n > 0) {
		*ret = meet.event.v[0];
		vec_remove(&meet.event, 0);
		found = true;
	} else {
		eventfd_read(meet.wake, &n);
	}
	pthread_mutex_unlock(&meet.lock);
	return found;
}

void meet_event_fini(struct meet_event *e)
{
	free(e->who);
	free(e->data);
}

static char *data_copy(const char *data, size_t n)
{
	char *copy = mem_alloc(n + 1);

	if (n)
		memcpy(copy, data, n);
	return copy;
}

void meet_answer(uint64_t id, int status, const char *data, size_t n)
{
	struct question q = {0};

	pthread_mutex_lock(&meet.lock);
	for (size_t i = 0; i < meet.question.n && !q.id; i++)
		if (meet.question.v[i].id == id) {
			q = meet.question.v[i];
			vec_remove(&meet.question, i);
		}
	pthread_mutex_unlock(&meet.lock);
	if (!q.id)
		return;
	char *copy = data_copy(data, n);
	q.answer(status, copy, n, q.context, free, copy);
}

/* ---- callbacks of the library ---- */

/* Connecting and leaving are always permitted. */
static pmix_status_t on_connected(const pmix_proc_t *p, void *object, pmix_info_t info[], size_t n,
				  pmix_op_cbfunc_t done, void *context)
{
	event_put((struct meet_event){.type = MEET_CONNECTED, .rank = p->rank});
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_finalized(const pmix_proc_t *p, void *object, pmix_op_cbfunc_t done, void *context)
{
	event_put((struct meet_event){.type = MEET_FINALIZED, .rank = p->rank});
	return PMIX_OPERATION_SUCCEEDED;
}

/* Ends all ranks even if only some were named: a program that has lost some of its ranks is
 * useless.
 * 
 * It is never answered: the rank waits until the launcher, which then knows who aborted, ends
 * it. Otherwise the rank would be gone before the launcher knows, and another rank's complaint
 * about its absence could arrive first, from another host. */
static pmix_status_t on_abort(const pmix_proc_t *p, void *object, int status, const char message[], pmix_proc_t procs[],
			      size_t n, pmix_op_cbfunc_t done, void *context)
{
	event_put((struct meet_event){.type = MEET_ABORT, .rank = p->rank, .status = status});
	return PMIX_SUCCESS;
}

/* Refuses and ends the program: otherwise Open MPI's other ranks would wait forever. */
static pmix_status_t on_spawn(const pmix_proc_t *p, const pmix_info_t job[], size_t njob, const pmix_app_t apps[],
			      size_t n, pmix_spawn_cbfunc_t done, void *context)
{
	event_put((struct meet_event){.type = MEET_SPAWN, .rank = p->rank});
	return PMIX_ERR_NOT_SUPPORTED;
}

/* Builds the name of a fence, the same on all hosts: its ranks. */
static char *who_text(const pmix_proc_t procs[], size_t n)
{
	struct strbuf text = {0};

	for (size_t i = 0; i < n; i++) {
		if (procs[i].rank == PMIX_RANK_WILDCARD) {
			strbuf_fini(&text);
			return mem_strdup("*");
		}
		strbuf_printf(&text, "%s%u", i ? "," : "", procs[i].rank);
	}
	return text.text ? text.text : mem_strdup("*");
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
			      char *data, size_t n, pmix_modex_cbfunc_t answer, void *context)
{
	uint64_t id = question_put(answer, context);

	event_put((struct meet_event){
		.type = MEET_FENCE, .id = id, .who = who_text(procs, nprocs), .data = data_copy(data, n), .n = n});
	free(data); /* by PMIx's rules we own it */
	return PMIX_SUCCESS;
}

static pmix_status_t on_ask(const pmix_proc_t *p, const pmix_info_t info[], size_t ninfo, pmix_modex_cbfunc_t answer,
			    void *context)
{
	event_put((struct meet_event){.type = MEET_ASK, .id = question_put(answer, context), .rank = p->rank});
	return PMIX_SUCCESS;
}

static void on_told(pmix_status_t status, char *data, size_t n, void *context)
{
	uint64_t *id = context;

	event_put((struct meet_event){
		.type = MEET_TOLD, .id = *id, .status = status, .data = data_copy(data, n), .n = n});
	free(id);
}

void meet_tell(uint64_t id, const struct layout *l, uint32_t rank)
{
	uint64_t *context = mem_alloc(sizeof *context);
	pmix_proc_t p;

	*context = id;
	PMIX_LOAD_PROCID(&p, meet.space, rank);
	pmix_status_t rc = PMIx_server_dmodex_request(&p, on_told, context);
	if (rc != PMIX_SUCCESS)
		on_told(rc, NULL, 0, context);
}

/* ---- starting ---- */

struct wait {
	bool done;
	pmix_status_t status;
};

static void on_done(pmix_status_t status, void *context)
{
	struct wait *w = context;

	pthread_mutex_lock(&meet.lock);
	*w = (struct wait){true, status};
	pthread_cond_broadcast(&meet.done);
	pthread_mutex_unlock(&meet.lock);
}

/* Waits for the result of an asynchronous call. */
static int wait_for(struct wait *w, pmix_status_t rc, const char *what, struct err *err)
{
	pthread_mutex_lock(&meet.lock);
	while (rc == PMIX_SUCCESS && !w->done)
		pthread_cond_wait(&meet.done, &meet.lock);
	pthread_mutex_unlock(&meet.lock);
	if (rc == PMIX_SUCCESS)
		rc = w->status;
	if (rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED)
		return 0;
	return err_set(err, -EIO, "PMIx: %s: %s", what, PMIx_Error_string(rc));
}

typedef VEC(pmix_info_t) info_vec;

static void info_add(info_vec *v, const char *key, const void *value, pmix_data_type_t type)
{
	pmix_info_t info;

	PMIX_INFO_CONSTRUCT(&info);
	PMIX_INFO_LOAD(&info, key, value, type);
	vec_push(v, info);
}

static void info_number(info_vec *v, const char *key, uint32_t n)
{
	info_add(v, key, &n, PMIX_UINT32);
}

static void info_fini(info_vec *v)
{
	for (size_t i = 0; i < v->n; i++)
		PMIX_INFO_DESTRUCT(&v->v[i]);
	vec_free(v);
}

static void ranks_text(const struct layout_host *h, struct strbuf *out)
{
	for (size_t i = 0; i < h->rank.n; i++)
		strbuf_printf(out, "%s%u", i ? "," : "", h->rank.v[i]);
}

/* Adds the hosts and the ranks on each, in PMIx's compressed form. */
static void maps_add(info_vec *v, const struct layout *l)
{
	struct strbuf hosts = {0}, ranks = {0};
	char *text = NULL;

	for (size_t i = 0; i < l->host.n; i++) {
		strbuf_printf(&hosts, "%s%s", i ? "," : "", l->host.v[i].name);
		strbuf_puts(&ranks, i ? ";" : "");
		ranks_text(&l->host.v[i], &ranks);
	}
	if (PMIx_generate_regex(hosts.text, &text) == PMIX_SUCCESS)
		info_add(v, PMIX_NODE_MAP, text, PMIX_REGEX);
	free(text);
	text = NULL;
	if (PMIx_generate_ppn(ranks.text, &text) == PMIX_SUCCESS)
		info_add(v, PMIX_PROC_MAP, text, PMIX_REGEX);
	free(text);
	strbuf_fini(&hosts);
	strbuf_fini(&ranks);
}

static void program_describe(info_vec *v, const struct layout *l, const char *dir)
{
	const struct layout_host *h = &l->host.v[l->here];
	struct strbuf peers = {0};

	info_number(v, PMIX_UNIV_SIZE, l->size);
	info_number(v, PMIX_JOB_SIZE, l->size);
	info_number(v, PMIX_MAX_PROCS, l->size);
	info_number(v, PMIX_APP_SIZE, l->size);
	info_number(v, PMIX_JOB_NUM_APPS, 1);
	info_number(v, PMIX_NUM_NODES, (uint32_t)l->host.n);
	info_number(v, PMIX_NODEID, l->here);
	info_number(v, PMIX_LOCAL_SIZE, (uint32_t)h->rank.n);
	info_number(v, PMIX_NODE_SIZE, (uint32_t)h->rank.n);
	info_add(v, PMIX_LOCALLDR, &h->rank.v[0], PMIX_PROC_RANK);
	maps_add(v, l);
	ranks_text(h, &peers);
	info_add(v, PMIX_LOCAL_PEERS, peers.text, PMIX_STRING);
	info_add(v, PMIX_JOBID, meet.space, PMIX_STRING);
	info_add(v, PMIX_NSDIR, dir, PMIX_STRING);
	info_add(v, PMIX_TMPDIR, dir, PMIX_STRING);
	strbuf_fini(&peers);
}

static int server_begin(const struct layout *l, const char *dir, struct err *err)
{
	pmix_server_module_t module = {.client_connected2 = on_connected,
				       .client_finalized = on_finalized,
				       .abort = on_abort,
				       .fence_nb = on_fence,
				       .direct_modex = on_ask,
				       .spawn = on_spawn};
	info_vec v = {0};

	setenv("PMIX_MCA_gds", "hash", 1); /* the other module complains about its locks */
	info_add(&v, PMIX_SERVER_TMPDIR, dir, PMIX_STRING);
	info_add(&v, PMIX_SYSTEM_TMPDIR, dir, PMIX_STRING);
	/* the name in the map, regardless of uname */
	info_add(&v, PMIX_HOSTNAME, l->host.v[l->here].name, PMIX_STRING);
	pmix_status_t rc = PMIx_server_init(&module, v.v, v.n);
	info_fini(&v);
	if (rc != PMIX_SUCCESS)
		return err_set(err, -EIO, "the PMIx server does not start: %s", PMIx_Error_string(rc));
	return 0;
}

int meet_start(const struct layout *l, const char *dir, struct err *err)
{
	struct wait w = {0};
	info_vec v = {0};

	meet.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	snprintf(meet.space, sizeof meet.space, "%s", l->name);
	int rc = meet.wake < 0 ? err_set(err, -errno, "eventfd: %s", strerror(errno)) : server_begin(l, dir, err);
	if (rc < 0)
		return rc;
	program_describe(&v, l, dir);
	rc = wait_for(&w,
		      PMIx_server_register_nspace(meet.space, (int)l->host.v[l->here].rank.n, v.v, v.n, on_done, &w),
		      "registering the program", err);
	info_fini(&v);
	return rc;
}

int meet_prepare(const struct layout *l, uint32_t rank, name_list *env, struct err *err)
{
	struct wait w = {0};
	pmix_proc_t p;
	char **more = NULL;

	PMIX_LOAD_PROCID(&p, meet.space, rank);
	int rc = wait_for(&w, PMIx_server_register_client(&p, getuid(), getgid(), NULL, on_done, &w),
			  "registering a rank", err);
	if (rc < 0)
		return rc;
	pmix_status_t status = PMIx_server_setup_fork(&p, &more);
	if (status != PMIX_SUCCESS)
		return err_set(err, -EIO, "PMIx: a rank's environment: %s", PMIx_Error_string(status));
	for (char **e = more; *e; e++)
		vec_push(env, *e);
	free(more);
	/* Without these two, Open MPI 4.1 makes every rank a program of its own. */
	vec_push(env, mem_strdup("OMPI_MCA_schizo=^orte"));
	vec_push(env, mem_strdup("OMPI_MCA_ess=pmi"));
	return 0;
}
