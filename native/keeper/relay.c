#include "relay.h"

#include <stdlib.h>
#include <string.h>

#include "frames.h"

/* Kubelet's greatest call is one pod's claims: a few KiB. It makes one call for each pod that starts
 * or ends, and a node has 110. */
enum {
    STREAMS_MAX = 256,
    BLOCK_MAX = 32 * 1024,            /* kubelet's header blocks have some hundred bytes */
    STREAM_WINDOW = 512 * 1024,       /* of one request, and of an answer that was not sent on yet */
    CONNECTION_WINDOW = 4 * 1024 * 1024, /* of all of them together */
    OUT_SOFT = 64 * 1024,             /* no more calls or answers are queued beyond this */
    OUT_HARD = 1024 * 1024,           /* a peer that asks and does not read */
    HOLD_MS = 500,                    /* for the parts of an answer; the driver sends them at once */
    DEATHS_MAX = 3                    /* a call that kills its driver must not kill each one */
};

enum { FIRST_WINDOW = 65535 }; /* of every connection and stream, until settings say otherwise */
enum { TABLE_SIZE = 1, MAX_STREAMS = 3, INITIAL_WINDOW = 4, MAX_FRAME_SIZE = 5 }; /* settings */

static const char PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
static const size_t PREFACE_LEN = sizeof PREFACE - 1;

enum who { CLIENT, DRIVER };

struct stream {
    uint32_t id;
    struct queue headers, body;
    size_t charged;  /* of the client's window, padding included */
    bool asked;      /* the request is whole */
    int64_t window[2]; /* what we may send to each side */
    int deaths;
    /* of this life of the driver */
    bool sent, all_sent;
    size_t body_sent;
    struct queue answer; /* whole frames */
    bool answered;       /* its last frame is queued or gone */
    bool is_late;        /* by a driver that is gone since, and needs no window */
    bool flowing, begun; /* it may pass; some of it has passed */
    int64_t flows_at;
    struct stream *next;
};

struct side {
    struct queue in, out, block;
    uint32_t block_stream; /* whose header block is being gathered; 0 if none is */
    bool block_ends, greeted;
    int64_t window, initial_window, granted;
    uint32_t max_streams;
};

struct relay {
    struct side side[2];
    const struct answers *prepared;
    bool has_preface, joined;
    struct stream *first, **end; /* by their numbers, which only grow */
    size_t count;
    uint32_t last_id;
};

static void greet(struct side *side, const char *preface, size_t len)
{
    unsigned char settings[18];

    put_setting(settings, TABLE_SIZE, 0);
    put_setting(settings + 6, MAX_STREAMS, STREAMS_MAX);
    put_setting(settings + 12, INITIAL_WINDOW, STREAM_WINDOW);
    queue_put(&side->out, preface, len);
    put_frame(&side->out, SETTINGS, 0, 0, settings, sizeof settings);
    put_window(&side->out, 0, CONNECTION_WINDOW - FIRST_WINDOW);
}

static void reset_side(struct side *side)
{
    queue_free(&side->in);
    queue_free(&side->out);
    queue_free(&side->block);
    *side = (struct side){
        .window = FIRST_WINDOW,
        .initial_window = FIRST_WINDOW,
        .granted = CONNECTION_WINDOW,
        .max_streams = UINT32_MAX,
    };
}

struct relay *relay_new(const struct answers *prepared)
{
    struct relay *relay = take_memory(sizeof *relay);

    relay->prepared = prepared;
    relay->end = &relay->first;
    reset_side(&relay->side[CLIENT]);
    reset_side(&relay->side[DRIVER]);
    greet(&relay->side[CLIENT], "", 0);
    return relay;
}

static void free_stream(struct stream *stream)
{
    queue_free(&stream->headers);
    queue_free(&stream->body);
    queue_free(&stream->answer);
    free(stream);
}

void relay_free(struct relay *relay)
{
    while (relay->first) {
        struct stream *next = relay->first->next;

        free_stream(relay->first);
        relay->first = next;
    }
    reset_side(&relay->side[CLIENT]);
    reset_side(&relay->side[DRIVER]);
    free(relay);
}

static struct stream *find(struct relay *relay, uint32_t id)
{
    struct stream *stream = relay->first;

    while (stream && stream->id != id)
        stream = stream->next;
    return stream;
}

/* Give the client back what it may send. */
static void grant_client(struct relay *relay, size_t len)
{
    relay->side[CLIENT].granted += (int64_t)len;
    put_window(&relay->side[CLIENT].out, 0, len);
}

static void forget(struct relay *relay, struct stream *gone)
{
    struct stream **at = &relay->first;

    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    if (relay->end == &gone->next)
        relay->end = at;
    relay->count--;
    grant_client(relay, gone->charged);
    free_stream(gone);
}

/* -- frames that end here ------------------------------------------------------------------------ */

static bool widen(int64_t *window, int64_t more)
{
    *window += more;
    return *window <= INT32_MAX;
}

static bool take_settings(struct relay *relay, enum who who, const struct frame *frame)
{
    struct side *side = &relay->side[who];

    if (frame->stream || frame->len % 6)
        return false;
    if (frame->flags & ACK)
        return !frame->len;
    for (uint32_t at = 0; at < frame->len; at += 6) {
        uint32_t id = read_uint(frame->payload + at, 2);
        uint32_t value = read_uint(frame->payload + at + 2, 4);

        if (id == MAX_STREAMS)
            side->max_streams = value;
        if (id == MAX_FRAME_SIZE && value < FRAME_MAX)
            return false;
        if (id != INITIAL_WINDOW)
            continue;
        if (value > INT32_MAX)
            return false;
        for (struct stream *each = relay->first; each; each = each->next)
            if ((who == CLIENT || each->sent) &&
                !widen(&each->window[who], (int64_t)value - side->initial_window))
                return false;
        side->initial_window = value;
    }
    side->greeted = true;
    put_frame(&side->out, SETTINGS, ACK, 0, NULL, 0);
    return true;
}

static bool take_ping(struct side *side, const struct frame *frame)
{
    if (frame->len != 8 || frame->stream)
        return false;
    if (!(frame->flags & ACK))
        put_frame(&side->out, PING, ACK, 0, frame->payload, frame->len);
    return true;
}

static bool take_window(struct relay *relay, enum who who, const struct frame *frame)
{
    uint32_t more = frame->len == 4 ? read_uint(frame->payload, 4) & INT32_MAX : 0;

    if (!more || frame->stream > relay->last_id)
        return false;
    if (!frame->stream)
        return widen(&relay->side[who].window, more);
    struct stream *stream = find(relay, frame->stream);

    return !stream || widen(&stream->window[who], more);
}

/* -- what the client sends ----------------------------------------------------------------------- */

static bool open_stream(struct relay *relay)
{
    struct side *side = &relay->side[CLIENT];
    uint32_t id = side->block_stream;

    if (id % 2 == 0 || id <= relay->last_id)
        return false; /* also a second block of a request, which no call of kubelet has */
    relay->last_id = id;
    if (relay->count == STREAMS_MAX) {
        put_reset(&side->out, id, REFUSED_STREAM);
        return true;
    }
    struct stream *stream = take_memory(sizeof *stream);

    stream->id = id;
    stream->headers = side->block;
    side->block = (struct queue){0};
    stream->asked = side->block_ends;
    stream->window[CLIENT] = side->initial_window;
    *relay->end = stream;
    relay->end = &stream->next;
    relay->count++;
    return true;
}

static bool take_request_data(struct relay *relay, struct frame *frame)
{
    struct side *side = &relay->side[CLIENT];
    struct stream *stream = find(relay, frame->stream);
    uint32_t charge = frame->len;

    if (!frame->stream || frame->stream > relay->last_id || charge > side->granted ||
        !strip_frame(frame))
        return false;
    side->granted -= charge;
    if (!stream) { /* it was refused or answered */
        grant_client(relay, charge);
        return true;
    }
    if (stream->asked || stream->charged + charge > STREAM_WINDOW)
        return false;
    stream->charged += charge;
    queue_put(&stream->body, frame->payload, frame->len);
    stream->asked = frame->flags & END_STREAM;
    return true;
}

static bool take_client_reset(struct relay *relay, const struct frame *frame)
{
    struct stream *stream = find(relay, frame->stream);

    if (frame->len != 4 || !frame->stream || frame->stream > relay->last_id)
        return false;
    if (!stream)
        return true;
    if (stream->sent && !stream->answered)
        put_reset(&relay->side[DRIVER].out, stream->id, CANCEL);
    forget(relay, stream);
    return true;
}

/* -- what the driver sends ----------------------------------------------------------------------- */

/* The call that an answer is for; false if there can be none. It may have been forgotten: NULL. */
static bool find_call(struct relay *relay, uint32_t id, struct stream **call)
{
    *call = find(relay, id);
    return id && id <= relay->last_id && (!*call || (*call)->sent);
}

static void note_answer(struct stream *call, bool ends, int64_t now_ms)
{
    if (!call->flows_at)
        call->flows_at = now_ms + HOLD_MS;
    call->answered = ends;
}

static bool take_answer_block(struct relay *relay, int64_t now_ms)
{
    struct side *side = &relay->side[DRIVER];
    struct stream *call;

    if (!find_call(relay, side->block_stream, &call))
        return false;
    if (call && !call->answered) {
        put_headers(&call->answer, call->id, &side->block, side->block_ends);
        note_answer(call, side->block_ends, now_ms);
    }
    return true;
}

/* Let the driver send more: of its connection, and of a call that goes on. */
static void grant_driver(struct relay *relay, const struct stream *call, size_t len)
{
    struct side *side = &relay->side[DRIVER];

    if (!relay->joined || (call && call->is_late))
        return;
    side->granted += (int64_t)len;
    put_window(&side->out, 0, len);
    if (call && !call->answered)
        put_window(&side->out, call->id, len);
}

static bool take_answer_data(struct relay *relay, struct frame *frame, int64_t now_ms)
{
    struct side *side = &relay->side[DRIVER];
    struct stream *call;
    uint32_t charge = frame->len;

    if (!find_call(relay, frame->stream, &call) || charge > side->granted || !strip_frame(frame))
        return false;
    side->granted -= charge;
    if (!call || call->answered) {
        grant_driver(relay, NULL, charge);
        return true;
    }
    grant_driver(relay, call, charge - frame->len);
    put_frame(&call->answer, DATA, frame->flags & END_STREAM, call->id, frame->payload, frame->len);
    note_answer(call, frame->flags & END_STREAM, now_ms);
    return true;
}

static bool take_driver_reset(struct relay *relay, const struct frame *frame, int64_t now_ms)
{
    struct stream *call;

    if (frame->len != 4 || !find_call(relay, frame->stream, &call))
        return false;
    if (call && !call->answered) {
        put_frame(&call->answer, RST_STREAM, 0, call->id, frame->payload, frame->len);
        note_answer(call, true, now_ms);
    }
    return true;
}

/* -- frames of either side ----------------------------------------------------------------------- */

static bool end_block(struct relay *relay, enum who who, int64_t now_ms)
{
    struct side *side = &relay->side[who];
    bool fine = who == CLIENT ? open_stream(relay) : take_answer_block(relay, now_ms);

    queue_free(&side->block);
    side->block_stream = 0;
    return fine;
}

static bool take_block(struct relay *relay, enum who who, struct frame *frame, int64_t now_ms)
{
    struct side *side = &relay->side[who];

    if (frame->type == HEADERS) {
        if (!frame->stream || !strip_frame(frame))
            return false;
        side->block_stream = frame->stream;
        side->block_ends = frame->flags & END_STREAM;
    }
    if (side->block.len + frame->len > BLOCK_MAX)
        return false;
    queue_put(&side->block, frame->payload, frame->len);
    return !(frame->flags & END_HEADERS) || end_block(relay, who, now_ms);
}

static bool take_frame(struct relay *relay, enum who who, struct frame *frame, int64_t now_ms)
{
    struct side *side = &relay->side[who];
    bool goes_on = frame->type == CONTINUATION && frame->stream == side->block_stream;

    if (side->block_stream ? !goes_on : frame->type == CONTINUATION)
        return false; /* a header block is never interrupted */
    if (!side->greeted && frame->type != SETTINGS)
        return false;
    switch (frame->type) {
    case DATA:
        return who == CLIENT ? take_request_data(relay, frame)
                             : take_answer_data(relay, frame, now_ms);
    case HEADERS:
    case CONTINUATION:
        return take_block(relay, who, frame, now_ms);
    case RST_STREAM:
        return who == CLIENT ? take_client_reset(relay, frame)
                             : take_driver_reset(relay, frame, now_ms);
    case SETTINGS:
        return take_settings(relay, who, frame);
    case PUSH_PROMISE:
        return false;
    case PING:
        return take_ping(side, frame);
    case WINDOW_UPDATE:
        return take_window(relay, who, frame);
    default: /* PRIORITY says nothing here, GOAWAY is followed by the end, others are unknown */
        return true;
    }
}

static bool take_frames(struct relay *relay, enum who who, int64_t now_ms)
{
    struct side *side = &relay->side[who];
    struct frame frame;

    for (;;) {
        enum taken taken = peek_frame(&side->in, &frame);

        if (taken != FRAME_WHOLE)
            return taken == FRAME_PARTIAL;
        size_t len = FRAME_HEAD + frame.len;

        if (!take_frame(relay, who, &frame, now_ms) || side->out.len > OUT_HARD)
            return false;
        queue_drop(&side->in, len);
    }
}

/* -- what is sent on ----------------------------------------------------------------------------- */

static size_t least(int64_t a, int64_t b, int64_t c)
{
    int64_t value = a < b ? a : b;

    value = value < c ? value : c;
    return value > 0 ? (size_t)value : 0;
}

static void send_body(struct relay *relay, struct stream *stream)
{
    struct side *side = &relay->side[DRIVER];

    while (!stream->all_sent && side->out.len < OUT_SOFT) {
        size_t left = stream->body.len - stream->body_sent;
        size_t len = least(side->window, stream->window[DRIVER], FRAME_MAX);

        len = len < left ? len : left;
        bool is_last = stream->asked && len == left;

        if (!len && !is_last)
            return;
        put_frame(&side->out, DATA, is_last ? END_STREAM : 0, stream->id,
                  len ? queue_head(&stream->body) + stream->body_sent : NULL, len);
        stream->body_sent += len;
        stream->window[DRIVER] -= (int64_t)len;
        side->window -= (int64_t)len;
        stream->all_sent = is_last;
    }
}

static void send_requests(struct relay *relay)
{
    struct side *side = &relay->side[DRIVER];
    size_t active = 0;

    if (!relay->joined || !side->greeted)
        return;
    for (struct stream *each = relay->first; each; each = each->next)
        active += each->sent && !each->answered;
    for (struct stream *each = relay->first; each && side->out.len < OUT_SOFT; each = each->next) {
        if (each->answered)
            continue;
        if (!each->sent) {
            if (active >= side->max_streams)
                return;
            active++;
            each->all_sent = each->asked && !each->body.len;
            put_headers(&side->out, each->id, &each->headers, each->all_sent);
            each->window[DRIVER] = side->initial_window;
            each->sent = true;
        }
        send_body(relay, each);
    }
}

/* Send the frame at the head of an answer, or a part of it; false if there is no room for any. */
static bool send_answer_frame(struct relay *relay, struct stream *call)
{
    struct side *side = &relay->side[CLIENT];
    struct frame frame;

    peek_frame(&call->answer, &frame);
    if (frame.type != DATA || !frame.len) {
        queue_put(&side->out, queue_head(&call->answer), FRAME_HEAD + frame.len);
        queue_drop(&call->answer, FRAME_HEAD + frame.len);
        return true;
    }
    size_t len = least(side->window, call->window[CLIENT], frame.len);

    if (!len)
        return false;
    bool is_whole = len == frame.len;

    put_frame(&side->out, DATA, is_whole ? frame.flags : 0, call->id, frame.payload, len);
    side->window -= (int64_t)len;
    call->window[CLIENT] -= (int64_t)len;
    if (is_whole) {
        queue_drop(&call->answer, FRAME_HEAD + len);
    } else { /* the rest becomes a frame of its own, over the bytes that have gone */
        uint32_t left = frame.len - (uint32_t)len;

        queue_drop(&call->answer, len);
        write_head(queue_head(&call->answer), DATA, frame.flags, call->id, left);
    }
    grant_driver(relay, call, len);
    return true;
}

static void send_answers(struct relay *relay, int64_t now_ms)
{
    struct side *side = &relay->side[CLIENT];
    struct stream *next;

    for (struct stream *each = relay->first; each; each = next) {
        next = each->next;
        each->flowing = each->flowing || each->answered ||
                        (each->flows_at && each->flows_at <= now_ms) ||
                        each->answer.len > STREAM_WINDOW / 2;
        while (each->flowing && each->answer.len && side->out.len < OUT_SOFT &&
               send_answer_frame(relay, each))
            each->begun = true;
        if (!each->answered || each->answer.len)
            continue;
        if (!each->asked)
            put_reset(&side->out, each->id, NO_ERROR); /* the rest of the request is not wanted */
        forget(relay, each);
    }
}

/* Answer for a driver that is away. */
static void answer_prepared(struct relay *relay)
{
    if (relay->joined)
        return;
    for (struct stream *each = relay->first; each; each = each->next) {
        const struct queue *body =
            each->asked && !each->answered ? answers_find(relay->prepared, &each->headers) : NULL;

        if (!body)
            continue;
        answers_put(&each->answer, each->id, body);
        each->answered = each->is_late = true;
    }
}

int64_t relay_tick(struct relay *relay, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;

    answer_prepared(relay);
    send_answers(relay, now_ms);
    send_requests(relay);
    for (struct stream *each = relay->first; each; each = each->next)
        if (each->answer.len && !each->flowing && each->flows_at < next_ms)
            next_ms = each->flows_at;
    return next_ms;
}

/* -- both connections ---------------------------------------------------------------------------- */

bool relay_from_client(struct relay *relay, const void *bytes, size_t len, int64_t now_ms)
{
    struct side *side = &relay->side[CLIENT];

    queue_put(&side->in, bytes, len);
    if (!relay->has_preface) {
        size_t come = side->in.len < PREFACE_LEN ? side->in.len : PREFACE_LEN;

        if (come && memcmp(queue_head(&side->in), PREFACE, come) != 0)
            return false;
        if (come < PREFACE_LEN)
            return true;
        queue_drop(&side->in, PREFACE_LEN);
        relay->has_preface = true;
    }
    if (!take_frames(relay, CLIENT, now_ms))
        return false;
    relay_tick(relay, now_ms);
    return true;
}

bool relay_from_driver(struct relay *relay, const void *bytes, size_t len, int64_t now_ms)
{
    queue_put(&relay->side[DRIVER].in, bytes, len);
    if (!take_frames(relay, DRIVER, now_ms))
        return false;
    relay_tick(relay, now_ms);
    return true;
}

void relay_joined(struct relay *relay, int64_t now_ms)
{
    reset_side(&relay->side[DRIVER]);
    greet(&relay->side[DRIVER], PREFACE, PREFACE_LEN);
    relay->joined = true;
    relay_tick(relay, now_ms);
}

void relay_lost(struct relay *relay, int64_t now_ms)
{
    struct stream *next;

    reset_side(&relay->side[DRIVER]);
    relay->joined = false;
    for (struct stream *each = relay->first; each; each = next) {
        next = each->next;
        each->is_late = each->answered;
        if (each->answered || !each->sent)
            continue;
        if (each->begun || ++each->deaths == DEATHS_MAX) {
            put_reset(&relay->side[CLIENT].out, each->id, INTERNAL_ERROR);
            forget(relay, each);
            continue;
        }
        queue_free(&each->answer);
        each->sent = each->all_sent = each->flowing = false;
        each->body_sent = 0;
        each->flows_at = 0;
    }
    relay_tick(relay, now_ms);
}

size_t relay_held(const struct relay *relay)
{
    size_t held = sizeof *relay;

    for (int who = CLIENT; who <= DRIVER; who++) {
        const struct side *side = &relay->side[who];

        held += side->in.room + side->out.room + side->block.room;
    }
    for (const struct stream *each = relay->first; each; each = each->next)
        held += sizeof *each + each->headers.room + each->body.room + each->answer.room;
    return held;
}

struct queue *relay_to_client(struct relay *relay)
{
    return &relay->side[CLIENT].out;
}

struct queue *relay_to_driver(struct relay *relay)
{
    return &relay->side[DRIVER].out;
}
