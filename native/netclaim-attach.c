/* netclaim-attach: the last plugin of the primary network's list, by which the container runtime
 * itself asks the netclaim driver for a pod's interfaces, and waits for them.
 *
 * Promise: a pod that claims nothing never waits for the driver and never fails because of it,
 * whatever state the driver is in; that is decided from files. A pod that has claims does not start
 * without the driver's word. DEL, GC and STATUS never fail.
 * Limit: does nothing itself. It passes the result of the plugins before it on as it came.
 *
 * A second job, as a hook of the container's runtime (createRuntime):
 *     netclaim-attach wait --socket PATH --attached DIRECTORY --timeout SECONDS
 *                          [--sandbox ID --pod-uid UID]
 * waits until the driver says that the sandbox has all its interfaces. Without --sandbox it is the
 * one that the container's state on standard input names; this form stands in CDI files, which
 * outlive a driver that was uninstalled, and then does nothing.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "driver.h"
#include "files.h"
#include "json.h"

/* Codes of the CNI specification. */
enum {
    CODE_ENVIRONMENT = 4,
    CODE_IO = 5,
    CODE_UNDECODABLE = 6,
    CODE_CONFIGURATION = 7,
    CODE_TRY_AGAIN = 11
};

enum { STDIN_MAX = 1 << 20 }; /* a configuration and a result: a few KiB */

static const double TIMEOUT_S = 100;      /* kubelet gives up after 120 */
static const double SHORT_TIMEOUT_S = 5;  /* for what does not depend on the answer */
static const double TIMEOUT_MAX_S = 3600; /* beyond what anybody waits for */

struct config {
    struct span document, prev_result, cni_version;
    char *driver, *socket, *plans, *kubelet_state;
    double timeout_s, short_timeout_s;
};

struct call {
    const char *command, *container, *netns, *ifname, *args;
    struct span pod_uid, namespace; /* as CNI_ARGS says, unchecked */
    struct span stdin_bytes;
};

/* -- output -------------------------------------------------------------------------------------- */

static bool write_all(int fd, struct span text)
{
    while (text.len) {
        ssize_t written = write(fd, text.at, text.len);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        text.at += written;
        text.len -= (size_t)written;
    }
    return true;
}

static int print(struct buffer *out)
{
    put_text(out, "\n");
    return write_all(STDOUT_FILENO, (struct span){out->at, out->len}) ? 0 : 1;
}

/* A CNI error on standard output; returns the exit status. */
static int fail(const struct config *config, unsigned long code, struct span message)
{
    struct buffer out = {0};

    put_text(&out, "{\"cniVersion\":");
    if (config && config->cni_version.at)
        put(&out, config->cni_version.at, config->cni_version.len);
    else
        put_text(&out, "\"1.0.0\"");
    put_text(&out, ",\"code\":");
    put_number(&out, code);
    put_text(&out, ",\"msg\":");
    put_json(&out, message);
    put_text(&out, "}");
    print(&out);
    return 1;
}

static int fail_text(const struct config *config, unsigned long code, const char *message)
{
    return fail(config, code, span_of(message));
}

/* -- input --------------------------------------------------------------------------------------- */

/* A value of CNI_ARGS, which are KEY=VALUE;KEY=VALUE; of two the last, as in CNI's own library. */
static struct span cni_arg(const char *args, const char *key)
{
    struct span found = {0};
    size_t len = strlen(key);

    for (const char *at = args ? args : ""; *at;) {
        size_t part = strcspn(at, ";");

        if (part > len && at[len] == '=' && memcmp(at, key, len) == 0)
            found = (struct span){at + len + 1, part - len - 1};
        at += part + (at[part] == ';');
    }
    return found;
}

static double seconds_member(struct span config, const char *name, double otherwise)
{
    struct span value = json_member(config, name);

    if (!value.at || !strchr("0123456789", *value.at))
        return otherwise;
    double seconds = strtod(copy_text(value), NULL);

    return seconds > 0 && seconds <= TIMEOUT_MAX_S ? seconds : otherwise;
}

/* What is wrong with the configuration, or NULL. */
static const char *read_config(struct span text, struct config *config)
{
    struct span document;

    if (!json_whole(text, &document) || !json_is_object(document))
        return "the configuration on standard input is not a JSON object";
    config->document = document;
    config->prev_result = json_member(document, "prevResult");
    if (span_is(config->prev_result, "null"))
        config->prev_result.at = NULL;
    char *version = json_text(json_member(document, "cniVersion"));

    if (version && *version)
        config->cni_version = json_member(document, "cniVersion");
    config->driver = json_text(json_member(document, "driver"));
    config->socket = json_text(json_member(document, "socket"));
    config->plans = json_text(json_member(document, "plans"));
    config->kubelet_state = json_text(json_member(document, "kubeletState"));
    config->timeout_s = seconds_member(document, "timeoutSeconds", TIMEOUT_S);
    config->short_timeout_s = seconds_member(document, "shortTimeoutSeconds", SHORT_TIMEOUT_S);
    if (!config->driver || !config->socket || !config->plans || !config->kubelet_state)
        return "netclaim-attach's configuration needs driver, socket, plans and kubeletState";
    if (config->prev_result.at && !json_is_object(config->prev_result))
        return "prevResult is not an object";
    return NULL;
}

/* -- decisions ----------------------------------------------------------------------------------- */

enum concern {
    NO_CONCERN,   /* the driver has nothing to do with this pod: do not ask it */
    IT_MAY_KNOW,  /* ask, briefly; without an answer the pod goes on */
    IT_MUST_KNOW, /* the pod has claims: no start without the driver's word */
    CANNOT_TELL   /* the same, but for all we know: kubelet's file cannot be read */
};

/* Whose pod this is, from disk alone. */
static enum concern find_concern(const struct config *config, const struct call *call)
{
    struct buffer claims = {0};

    if (is_noted(config->plans, "pods", call->pod_uid))
        return IT_MUST_KNOW;
    if (is_noted(config->plans, "namespaces", call->namespace)) {
        /* A file that cannot be read, as one that went this instant, lists no claims: any counts. */
        read_noted(config->plans, "namespaces", call->namespace, &claims);
        switch (claim_in_use(config->kubelet_state, (struct span){claims.at, claims.len},
                             call->pod_uid)) {
        case IN_USE:
            return IT_MUST_KNOW;
        case USE_UNKNOWN:
            return CANNOT_TELL;
        case NOT_IN_USE:
            return IT_MAY_KNOW;
        }
    }
    if (is_noted(config->plans, "", span_of("ask")))
        return IT_MAY_KNOW;
    return NO_CONCERN;
}

static bool make_request(struct buffer *request, const struct call *call)
{
    put_command(request, call->command);
    if (!put_field(request, "container", call->container) ||
        !put_field(request, "netns", call->netns) ||
        !put_field(request, "ifname", call->ifname) || !put_field(request, "args", call->args))
        return false;
    put_body(request, call->stdin_bytes);
    return true;
}

/* Why there is no answer, as the rest of a sentence about the driver. */
static void put_why(struct buffer *out, const struct answer *answer, const char *socket,
                    double seconds)
{
    if (answer->outcome == DRIVER_AWAY) {
        put_text(out, " is not running on this node (");
        put_text(out, socket);
        put_text(out, ": ");
        put_text(out, strerror(answer->error));
        put_text(out, ")");
    } else if (answer->outcome == DRIVER_LOST) {
        put_text(out, " stopped before it answered");
    } else {
        put_text(out, " did not answer within ");
        put_number(out, (unsigned long)(seconds + 0.5));
        put_text(out, " s");
    }
}

/* Why a pod that has claims cannot go on. */
static int refuse(const struct config *config, const struct answer *answer, enum concern concern)
{
    struct buffer message = {0};

    put_text(&message, "the netclaim driver ");
    put_text(&message, config->driver);
    put_why(&message, answer, config->socket, config->timeout_s);
    if (concern == CANNOT_TELL) {
        put_text(&message, "; it is not known whether the pod claims an interface, because ");
        put_text(&message, config->kubelet_state);
        put_text(&message, " cannot be read");
    } else {
        put_text(&message, "; the pod claims an interface, and starts when the driver is back");
    }
    return fail(config, CODE_TRY_AGAIN, (struct span){message.at, message.len});
}

/* Ask the driver if it may be concerned. Returns 0 if the pod may go on; otherwise the error is
 * printed. */
static int ask(const struct config *config, const struct call *call)
{
    enum concern concern = find_concern(config, call);
    struct buffer request = {0};

    if (concern == NO_CONCERN)
        return 0;
    if (!make_request(&request, call))
        return fail_text(config, CODE_ENVIRONMENT,
                         "a CNI variable contains a control character");
    struct answer answer = ask_driver(
        config->socket, (struct span){request.at, request.len},
        concern == IT_MAY_KNOW ? config->short_timeout_s : config->timeout_s, true);

    if (answer.outcome == DRIVER_OK)
        return 0;
    if (answer.outcome == DRIVER_REFUSED)
        return fail(config, answer.code,
                    (struct span){answer.message.at, answer.message.len});
    return concern == IT_MAY_KNOW ? 0 : refuse(config, &answer, concern);
}

/* Tell the driver, if it is there; what it says to it changes nothing. */
static void tell(const struct config *config, const struct call *call)
{
    struct buffer request = {0};

    if (make_request(&request, call))
        ask_driver(config->socket, (struct span){request.at, request.len},
                   config->short_timeout_s, true);
}

/* -- commands ------------------------------------------------------------------------------------ */

static int print_result(const struct config *config)
{
    struct buffer out = {0};

    if (config->prev_result.at) {
        put(&out, config->prev_result.at, config->prev_result.len);
        return print(&out);
    }
    put_text(&out, "{\"cniVersion\":");
    if (config->cni_version.at)
        put(&out, config->cni_version.at, config->cni_version.len);
    else
        put_text(&out, "\"0.3.0\""); /* the oldest one whose results need nothing else */
    put_text(&out, "}");
    return print(&out);
}

static int add_or_check(struct call *call, bool is_add)
{
    struct buffer input = {0};
    struct config config = {0};

    if (!read_all(STDIN_FILENO, STDIN_MAX, &input))
        return fail_text(NULL, errno == EFBIG ? CODE_UNDECODABLE : CODE_IO,
                         errno == EFBIG ? "the configuration has more than 1 MiB"
                                        : "the configuration cannot be read");
    call->stdin_bytes = (struct span){buffer_text(&input), input.len};
    const char *fault = read_config(call->stdin_bytes, &config);

    if (fault)
        return fail_text(&config, config.document.at ? CODE_CONFIGURATION : CODE_UNDECODABLE,
                         fault);
    int status = ask(&config, call);

    return status || !is_add ? status : print_result(&config);
}

/* DEL and GC: with a configuration that cannot be read there is nobody to tell. */
static int tell_and_succeed(struct call *call, bool is_del)
{
    struct buffer input = {0};
    struct config config = {0};

    if (!read_all(STDIN_FILENO, STDIN_MAX, &input))
        return 0;
    call->stdin_bytes = (struct span){buffer_text(&input), input.len};
    if (read_config(call->stdin_bytes, &config))
        return 0;
    if (!is_del || is_noted(config.plans, "sandboxes", span_of(call->container)) ||
        find_concern(&config, call) != NO_CONCERN)
        tell(&config, call);
    return 0;
}

static int version(void)
{
    struct buffer out = {0};

    put_text(&out, "{\"cniVersion\":\"1.1.0\",\"supportedVersions\":"
                   "[\"0.3.0\",\"0.3.1\",\"0.4.0\",\"1.0.0\",\"1.1.0\"]}");
    return print(&out);
}

static int run_plugin(void)
{
    struct call call = {
        .command = getenv("CNI_COMMAND"),
        .container = getenv("CNI_CONTAINERID"),
        .netns = getenv("CNI_NETNS"),
        .ifname = getenv("CNI_IFNAME"),
        .args = getenv("CNI_ARGS"),
    };
    call.pod_uid = cni_arg(call.args, "K8S_POD_UID");
    call.namespace = cni_arg(call.args, "K8S_POD_NAMESPACE");
    struct span command = span_of(call.command);

    if (span_is(command, "ADD"))
        return add_or_check(&call, true);
    if (span_is(command, "CHECK"))
        return add_or_check(&call, false);
    if (span_is(command, "DEL"))
        return tell_and_succeed(&call, true);
    if (span_is(command, "GC"))
        return tell_and_succeed(&call, false);
    if (span_is(command, "STATUS"))
        return 0; /* a driver that is away must not make the node NotReady */
    if (span_is(command, "VERSION"))
        return version();
    return fail_text(NULL, CODE_ENVIRONMENT,
                     call.command ? "CNI_COMMAND is none of ADD, DEL, CHECK, GC, STATUS, VERSION"
                                  : "CNI_COMMAND is not set; netclaim-attach is a CNI plugin, "
                                    "which the container runtime executes");
}

/* -- the hook ------------------------------------------------------------------------------------ */

struct wait_options {
    const char *socket, *sandbox, *pod_uid, *attached, *timeout;
};

static int complain(const char *first, struct span second, const char *third)
{
    struct buffer out = {0};

    put_text(&out, "netclaim-attach: ");
    put_text(&out, first);
    put(&out, second.at, second.len);
    put_text(&out, third);
    put_text(&out, "\n");
    write_all(STDERR_FILENO, (struct span){out.at, out.len});
    return 1;
}

static bool read_options(int count, char **words, struct wait_options *options)
{
    const struct {
        const char *name;
        const char **value;
    } known[] = {
        {"--socket", &options->socket},     {"--sandbox", &options->sandbox},
        {"--pod-uid", &options->pod_uid},   {"--attached", &options->attached},
        {"--timeout", &options->timeout},
    };
    for (int i = 0; i + 1 < count; i += 2) {
        bool found = false;

        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (strcmp(words[i], known[k].name) == 0) {
                *known[k].value = words[i + 1];
                found = true;
            }
        if (!found)
            return false;
    }
    return count % 2 == 0 && options->socket && options->attached && options->timeout &&
           !options->sandbox == !options->pod_uid;
}

/* What an annotation of a container's state says, by one of these names. A runtime writes one of
 * them, once; a pod's own annotations may be among the state's, under the name that another runtime
 * uses. So where there is more than one word, nothing is believed. */
static const char *annotation(struct span annotations, const char *const names[2])
{
    const char *found = NULL;

    for (int i = 0; i < 2; i++) {
        struct span value = json_member(annotations, names[i]);
        const char *text = json_text(value);

        if (!value.at)
            continue;
        if (!text || !*text || json_repeats(annotations, names[i]) ||
            (found && strcmp(found, text) != 0))
            return NULL;
        found = text;
    }
    return found;
}

/* Whose container this is, as the runtime says on standard input: containerd, or CRI-O. */
static bool read_state(struct wait_options *options)
{
    static const char *const sandbox[] = {"io.kubernetes.cri.sandbox-id",
                                          "io.kubernetes.cri-o.SandboxID"};
    static const char *const pod_uid[] = {"io.kubernetes.cri.sandbox-uid",
                                          "io.kubernetes.pod.uid"};
    struct buffer input = {0};
    struct span state;

    if (!read_all(STDIN_FILENO, STDIN_MAX, &input) ||
        !json_whole((struct span){buffer_text(&input), input.len}, &state))
        return false;
    struct span annotations = json_member(state, "annotations");

    if (json_repeats(state, "annotations"))
        return false;
    options->sandbox = annotation(annotations, sandbox);
    options->pod_uid = annotation(annotations, pod_uid);
    return options->sandbox && options->pod_uid;
}

/* The driver's directory is there from its first start on until it is uninstalled. */
static bool is_uninstalled(const char *socket)
{
    const char *slash = strrchr(socket, '/');

    return slash && access(copy_text((struct span){socket, (size_t)(slash - socket)}), F_OK) != 0 &&
           errno == ENOENT;
}

static int run_wait(int count, char **words)
{
    struct wait_options options = {0};
    struct buffer request = {0};
    char *rest = NULL;

    if (!read_options(count, words, &options))
        return complain("usage: netclaim-attach wait --socket PATH --attached DIRECTORY "
                        "--timeout SECONDS [--sandbox ID --pod-uid UID]", span_of(""), "");
    if (!options.sandbox && is_uninstalled(options.socket))
        return 0;
    if (!options.sandbox && !read_state(&options))
        return complain("the container's state on standard input does not name one sandbox and its pod",
                        span_of(""), "");
    double seconds = strtod(options.timeout, &rest);

    if (rest == options.timeout || *rest || !(seconds > 0 && seconds <= TIMEOUT_MAX_S))
        return complain("--timeout is not a number of seconds: ", span_of(options.timeout), "");
    put_command(&request, "WAIT");
    if (!put_field(&request, "container", options.sandbox) ||
        !put_field(&request, "uid", options.pod_uid))
        return complain("an option contains a control character", span_of(""), "");
    put_body(&request, (struct span){"", 0});
    struct answer answer =
        ask_driver(options.socket, (struct span){request.at, request.len}, seconds, false);

    if (answer.outcome == DRIVER_OK)
        return 0;
    if (answer.outcome == DRIVER_REFUSED)
        return complain("", (struct span){answer.message.at, answer.message.len}, "");
    /* The driver wrote down which sandboxes have everything: those do not need it. */
    if (is_noted(options.attached, "", span_of(options.sandbox)))
        return 0;
    struct buffer why = {0};

    put_why(&why, &answer, options.socket, seconds);
    return complain("the netclaim driver", (struct span){why.at, why.len},
                    "; it is not known whether the pod has its interfaces");
}

int main(int count, char **words)
{
    signal(SIGPIPE, SIG_IGN);
    if (count > 1 && strcmp(words[1], "wait") == 0)
        return run_wait(count - 2, words + 2);
    if (count > 1)
        return complain("unknown argument ", span_of(words[1]),
                        "; as a CNI plugin it takes none, as a hook it takes: wait");
    return run_plugin();
}
