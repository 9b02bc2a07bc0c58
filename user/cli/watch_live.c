/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: one loop over the keyboard, signals and a short wait. In each round the log is read
 * on, for a bounded time; every two seconds, and after what was done, the sandbox is asked for its state. A
 * frame is drawn when something has changed, ten a second at most. What is granted is the target that the
 * last frame showed whole. See watch_view.h for what stands where.
 */
#include "watch_live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/duration.h"
#include "../sandbox/control.h"
#include "../sandbox/grants.h"
#include "ask.h"
#include "grant.h"
#include "keys.h"
#include "tty.h"
#include "watch_view.h"

#define FRAME_MS 100
#define LOG_MS 200
#define ESCAPE_MS 50
#define READ_MS 50 /* of a round, at most */
#define STATUS_MS 2000
#define STATUS_ANSWER_MS 500
#define CHANGE_ANSWER_MS 20000
#define SEEN_MS 150 /* nobody reads and answers faster: such a yes was typed before */
#define DURATION "10m"

struct session {
	struct tty tty;
	struct screen screen;
	struct keys keys;
	struct watch_list list;
	struct watch_scene scene;
	struct lines *lines;
	struct target asked; /* the prompt's */
	int signal_fd;
	sigset_t mask; /* before */
	bool is_over, is_dirty, has_more;
	bool is_proposal; /* the duration is: typing begins a new one */
	bool is_whole;    /* the last frame shows all that is asked */
	enum watch_mode drawn_mode;
	uint64_t seen_ms; /* since when a question is shown whole */
	uint64_t drawn_ms, asked_ms;
};

/* --- the sandbox */

static void take_status(struct session *s, const json_t *answer)
{
	const char *state = json_string_value(json_object_get(answer, "state"));
	const char *policy = json_string_value(json_object_get(answer, "policy_sha256"));

	snprintf(s->scene.state, sizeof(s->scene.state), "%s", state ? state : "?");
	snprintf(s->scene.policy, sizeof(s->scene.policy), "%.12s", policy ? policy : "");
	s->scene.generation = (uint64_t)json_integer_value(json_object_get(answer, "generation"));
	watch_list_set_grants(&s->list, json_object_get(answer, "grants"), clock_monotonic_ms());
}

static void ask_status(struct session *s)
{
	json_t *request = json_pack("{s:s}", "command", "status"), *answer = NULL;
	int r = control_ask(s->scene.name, request, STATUS_ANSWER_MS, &answer);

	json_decref(request);
	if (r == 0) {
		take_status(s, answer);
	} else {
		snprintf(s->scene.state, sizeof(s->scene.state), "%s",
			r == -ENOENT || r == -ECONNREFUSED ? "ended" : "does not answer");
		if (r == -ENOENT || r == -ECONNREFUSED)
			watch_list_set_grants(&s->list, NULL, 0);
	}
	json_decref(answer);
	s->asked_ms = clock_monotonic_ms();
	s->is_dirty = true;
}

/* True when it is done; else the message says why not. */
static bool change(struct session *s, json_t *request)
{
	json_t *answer = NULL;
	int r = control_ask(s->scene.name, request, CHANGE_ANSWER_MS, &answer);
	bool is_done = r == 0 && json_is_true(json_object_get(answer, "ok"));

	s->scene.message[0] = 0;
	if (!is_done)
		ask_explain(s->scene.name, r, answer, s->scene.message, sizeof(s->scene.message));
	json_decref(request);
	json_decref(answer);
	ask_status(s);
	return is_done;
}

/* --- questions */

static void begin_grant(struct session *s)
{
	size_t place;
	const struct watch_row *row = watch_list_selected(&s->list, &place);

	if (!row || row->grant || !row->wanted.narrow[0])
		return;
	s->asked = row->wanted;
	s->scene.target = s->asked.narrow;
	s->scene.wider = s->asked.wide[0] ? s->asked.wide : NULL;
	snprintf(s->scene.duration, sizeof(s->scene.duration), DURATION);
	s->is_proposal = true;
	s->scene.mode = WATCH_GRANT;
}

/* What was denied is not any more: it comes back when it is denied again. */
static void forget_asked(struct session *s)
{
	for (size_t i = s->list.n; i-- > 0;) {
		struct watch_row *row = s->list.rows[i];

		if (!row->grant &&
			(strcmp(row->wanted.narrow, s->scene.target) == 0 ||
				strcmp(row->wanted.wide, s->scene.target) == 0))
			watch_list_forget(&s->list, row);
	}
}

static void grant(struct session *s)
{
	uint64_t seconds = 0;

	if (duration_parse(s->scene.duration, GRANTS_MAX_SECONDS, &seconds) < 0 || !seconds) {
		snprintf(s->scene.message, sizeof(s->scene.message),
			"how long: 30s, 10m, 2h, at most 24h");
		return;
	}
	if (change(s, grant_request(s->scene.target, seconds)))
		forget_asked(s);
	s->scene.mode = WATCH_LIST;
}

static void type_duration(struct session *s, int key)
{
	char *text = s->scene.duration;
	size_t len = s->is_proposal && key != KEY_BACKSPACE ? 0 : strlen(text);
	bool is_part = key > 0x20 && key < 0x7f && strchr("0123456789hms", key);

	s->scene.message[0] = 0;
	if (key == KEY_BACKSPACE && len)
		text[len - 1] = 0;
	else if (is_part && len + 1 < sizeof(s->scene.duration)) {
		text[len] = (char)key;
		text[len + 1] = 0;
	} else
		return;
	s->is_proposal = false;
}

static bool is_seen(const struct session *s)
{
	return s->is_whole && clock_monotonic_ms() - s->seen_ms >= SEEN_MS;
}

static void on_grant_key(struct session *s, int key)
{
	const char *target = s->scene.target;

	if (key == KEY_ESCAPE || key == 'q') {
		s->scene.mode = WATCH_LIST;
	} else if (key == KEY_TAB && s->scene.wider) {
		s->scene.target = s->scene.wider;
		s->scene.wider = target;
		s->is_whole = false; /* it is another question */
	} else if (key == KEY_ENTER) {
		if (is_seen(s))
			grant(s);
	} else {
		type_duration(s, key);
	}
}

static void on_halt_key(struct session *s, int key)
{
	bool is_halted = strcmp(s->scene.state, "halted") == 0;

	s->scene.mode = WATCH_LIST;
	if (key == 'y' && is_seen(s))
		change(s, json_pack("{s:s}", "command", is_halted ? "resume" : "halt"));
}

/* --- the list */

static void revoke_it(struct session *s)
{
	size_t place;
	const struct watch_row *row = watch_list_selected(&s->list, &place);

	if (row && row->grant)
		change(s,
			json_pack("{s:s, s:I}", "command", "revoke", "grant",
				(json_int_t)row->grant));
}

static void ignore(struct session *s)
{
	size_t place;
	struct watch_row *row = watch_list_selected(&s->list, &place);

	if (row && !row->grant)
		watch_list_ignore(&s->list, row);
}

static void on_list_key(struct session *s, int key)
{
	long page = s->screen.rows > 4 ? (long)s->screen.rows - 4 : 1;

	s->scene.message[0] = 0;
	switch (key) {
	case KEY_UP:
	case 'k':
		watch_list_move(&s->list, -1);
		return;
	case KEY_DOWN:
	case 'j':
		watch_list_move(&s->list, 1);
		return;
	case KEY_PAGE_UP:
		watch_list_move(&s->list, -page);
		return;
	case KEY_PAGE_DOWN:
		watch_list_move(&s->list, page);
		return;
	case KEY_HOME:
		watch_list_move(&s->list, -(long)(WATCH_MAX_ROWS + NEJ_MAX_GRANTS));
		return;
	case KEY_END:
		watch_list_move(&s->list, WATCH_MAX_ROWS + NEJ_MAX_GRANTS);
		return;
	case 'g':
		begin_grant(s);
		return;
	case 'r':
		revoke_it(s);
		return;
	case 'i':
		ignore(s);
		return;
	case 'I':
		watch_list_show_all(&s->list);
		return;
	case 's':
		s->list.order = (s->list.order + 1) % WATCH_ORDERS;
		return;
	case 'h':
		s->scene.mode = WATCH_HALT;
		return;
	case '?':
		s->scene.mode = WATCH_HELP;
		return;
	case 'q':
		s->is_over = true;
		return;
	default:
		return;
	}
}

static void draw(struct session *s);

static void on_key(struct session *s, int key)
{
	static void (*const modes[])(struct session * s, int key) = {
		[WATCH_LIST] = on_list_key,
		[WATCH_GRANT] = on_grant_key,
		[WATCH_HALT] = on_halt_key,
	};

	if (key == KEY_NONE)
		return;
	if (s->scene.mode == WATCH_HELP)
		s->scene.mode = WATCH_LIST;
	else
		modes[s->scene.mode](s, key);
	/* at once: the next key is an answer to what is seen */
	draw(s);
}

/* --- in and out */

static void draw(struct session *s)
{
	bool was_whole = s->is_whole && s->scene.mode == s->drawn_mode;
	unsigned int columns, rows;

	tty_size(&s->tty, &columns, &rows);
	s->scene.now_ms = clock_monotonic_ms();
	s->is_whole = watch_view_draw(&s->screen, &s->list, &s->scene, columns, rows);
	s->drawn_ms = s->scene.now_ms;
	s->drawn_mode = s->scene.mode;
	if (!was_whole)
		s->seen_ms = s->drawn_ms;
	s->is_dirty = false;
	if (s->screen.out.is_failed ||
		tty_write(&s->tty, s->screen.out.data, s->screen.out.len) < 0)
		s->is_over = true;
}

static void read_keys(struct session *s)
{
	char bytes[64];
	ssize_t n = read(s->tty.in, bytes, sizeof(bytes));

	if (n <= 0 && errno != EINTR && errno != EAGAIN)
		s->is_over = true;
	for (ssize_t i = 0; i < n && !s->is_over; i++)
		on_key(s, keys_take(&s->keys, bytes[i]));
}

static void take_record(struct session *s, const char *line, size_t len)
{
	struct audit_record r;

	if (!audit_record_parse(line, len, &r))
		return;
	if (r.event && strcmp(r.event, "sandbox_started") == 0)
		watch_list_clear(&s->list);
	if (watch_list_add(&s->list, &r) > 0)
		s->is_dirty = true;
	else if (r.event && strcmp(r.layer ? r.layer : "", "supervisor") == 0)
		s->asked_ms = 0; /* it may have changed */
	audit_record_done(&r);
}

/* A flood leaves time for keys. */
static void read_log(struct session *s)
{
	uint64_t until_ms = clock_monotonic_ms() + READ_MS;
	const char *line;
	size_t len;
	int r = 0;

	while (clock_monotonic_ms() < until_ms && (r = lines_next(s->lines, &line, &len)) > 0)
		take_record(s, line, len);
	s->has_more = r > 0;
}

/* The terminal is its owner's while we stand still. */
static void stop(struct session *s)
{
	tty_leave(&s->tty);
	raise(SIGSTOP);
	if (tty_enter(&s->tty, STDIN_FILENO, STDOUT_FILENO) < 0)
		s->is_over = true;
	s->is_dirty = true;
}

static void on_signal(struct session *s)
{
	struct signalfd_siginfo info;

	if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGTSTP)
		stop(s);
	else if (info.ssi_signo != SIGWINCH && info.ssi_signo != SIGCONT)
		s->is_over = true;
	if (!s->is_over)
		draw(s);
}

static int wait_ms(const struct session *s)
{
	uint64_t now_ms = clock_monotonic_ms(), due_ms = s->drawn_ms + FRAME_MS;

	if (s->keys.n)
		return ESCAPE_MS;
	if (s->has_more)
		return 0;
	if (s->is_dirty)
		return due_ms > now_ms ? (int)(due_ms - now_ms) : 0;
	return LOG_MS;
}

/* Grants count down. */
static bool has_grant(const struct session *s)
{
	for (size_t i = 0; i < s->list.n; i++)
		if (s->list.rows[i]->grant)
			return true;
	return false;
}

static void run_round(struct session *s)
{
	struct pollfd fds[] = {
		{.fd = s->tty.in, .events = POLLIN}, {.fd = s->signal_fd, .events = POLLIN}};
	int n = poll(fds, 2, wait_ms(s));
	uint64_t now_ms;

	if (n > 0 && fds[1].revents)
		on_signal(s);
	if (n > 0 && fds[0].revents && !s->is_over)
		read_keys(s);
	if (n == 0 && s->keys.n)
		on_key(s, keys_flush(&s->keys));
	read_log(s);
	now_ms = clock_monotonic_ms();
	if (now_ms - s->asked_ms >= STATUS_MS && s->scene.mode == WATCH_LIST)
		ask_status(s);
	if (now_ms - s->drawn_ms >= 1000 && has_grant(s))
		s->is_dirty = true;
	if (s->is_dirty && now_ms - s->drawn_ms >= FRAME_MS && !s->is_over)
		draw(s);
}

static int watch_signals(struct session *s)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &s->mask);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? -errno : 0;
}

int watch_live(const char *name, struct lines *lines)
{
	struct session s = {.scene.name = name, .lines = lines, .signal_fd = -1, .is_dirty = true};
	int r;

	screen_init(&s.screen);
	watch_list_init(&s.list);
	r = watch_signals(&s);
	if (r >= 0)
		r = tty_enter(&s.tty, STDIN_FILENO, STDOUT_FILENO);
	if (r >= 0)
		ask_status(&s);
	while (r >= 0 && !s.is_over)
		run_round(&s);
	tty_leave(&s.tty);
	cleanup_close(&s.signal_fd);
	sigprocmask(SIG_SETMASK, &s.mask, NULL);
	watch_list_done(&s.list);
	screen_done(&s.screen);
	return r;
}
