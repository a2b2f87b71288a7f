/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous events, and the rule that an object outlives the events of it that a program has taken.
 *
 * A context hears the events of its own objects and of the port.  An event is counted as taken while the device is
 * still locked, so that a thread that destroys the object waits for it to be acknowledged.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <errno.h>
#include <string.h>

struct subject { /* the object an event is of */
    struct ibv_context *context;
    pthread_mutex_t *mutex;
    uint32_t *taken;
};

static struct subject subject_of(const struct device_event *event)
{
    if (event->kind == DEVICE_EVENT_SRQ_LIMIT) {
        struct vsrq *srq = event->app;

        return (struct subject){srq->ibv.context, &srq->ibv.mutex, &srq->async_taken};
    }
    if (event->kind == DEVICE_EVENT_CQ_ERROR) {
        struct vcq *cq = event->app;

        return (struct subject){cq->ex.context, &cq->ex.mutex, &cq->async_taken};
    }
    struct vqp *qp = event->app;

    return (struct subject){qp->ex.qp_base.context, &qp->ex.qp_base.mutex, &qp->async_taken};
}

/* The port's events are everybody's, an object's those of the context that made it. */
static bool wants(void *owner, const struct device_event *event)
{
    if (event->kind == DEVICE_EVENT_SQ_DRAINED && !atomic_load(&((struct vqp *)event->app)->tells_drained))
        return false;
    return event->app == NULL || subject_of(event).context == owner;
}

static void taken(void *owner, const struct device_event *event)
{
    struct subject subject;

    (void)owner;
    if (event->app == NULL) return;
    subject = subject_of(event);
    pthread_mutex_lock(subject.mutex);
    (*subject.taken)++;
    pthread_mutex_unlock(subject.mutex);
}

void verbs_events_init(struct vcontext *context)
{
    device_watch_hook(context->watch,
                      &(struct device_watch_hooks){.owner = &context->v.context, .wants = wants, .taken = taken});
}

static void translate(const struct device_event *event, struct ibv_async_event *ret)
{
    static const enum ibv_event_type type[] = {
        [DEVICE_EVENT_QP_FATAL] = IBV_EVENT_QP_FATAL,           [DEVICE_EVENT_QP_REQ] = IBV_EVENT_QP_REQ_ERR,
        [DEVICE_EVENT_QP_ACCESS] = IBV_EVENT_QP_ACCESS_ERR,     [DEVICE_EVENT_COMM_EST] = IBV_EVENT_COMM_EST,
        [DEVICE_EVENT_SQ_DRAINED] = IBV_EVENT_SQ_DRAINED,       [DEVICE_EVENT_LAST_WQE] = IBV_EVENT_QP_LAST_WQE_REACHED,
        [DEVICE_EVENT_SRQ_LIMIT] = IBV_EVENT_SRQ_LIMIT_REACHED, [DEVICE_EVENT_CQ_ERROR] = IBV_EVENT_CQ_ERR,
        [DEVICE_EVENT_PORT_ACTIVE] = IBV_EVENT_PORT_ACTIVE,     [DEVICE_EVENT_PORT_DOWN] = IBV_EVENT_PORT_ERR,
        [DEVICE_EVENT_GID_CHANGE] = IBV_EVENT_GID_CHANGE,       [DEVICE_EVENT_DEVICE_FATAL] = IBV_EVENT_DEVICE_FATAL,
    };

    CHECK(event->kind < sizeof type / sizeof type[0]);
    memset(ret, 0, sizeof *ret);
    ret->event_type = type[event->kind];
    if (event->app == NULL)
        ret->element.port_num = 1;
    else if (event->kind == DEVICE_EVENT_SRQ_LIMIT)
        ret->element.srq = &((struct vsrq *)event->app)->ibv;
    else if (event->kind == DEVICE_EVENT_CQ_ERROR)
        ret->element.cq = ibv_cq_ex_to_cq(&((struct vcq *)event->app)->ex);
    else
        ret->element.qp = &((struct vqp *)event->app)->ex.qp_base;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *ret)
{
    struct device_event event;
    int error = -device_watch_wait(vcontext_of(context)->watch, &event);

    if (error) {
        errno = error;
        return -1;
    }
    translate(&event, ret);
    return 0;
}

static void done(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *count)
{
    pthread_mutex_lock(mutex);
    (*count)++;
    pthread_cond_broadcast(cond);
    pthread_mutex_unlock(mutex);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        done(&event->element.cq->mutex, &event->element.cq->cond, &event->element.cq->async_events_completed);
        break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        done(&event->element.qp->mutex, &event->element.qp->cond, &event->element.qp->events_completed);
        break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        done(&event->element.srq->mutex, &event->element.srq->cond, &event->element.srq->events_completed);
        break;
    default:
        break;
    }
}

void verbs_wait_events(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed, const uint32_t *taken)
{
    pthread_mutex_lock(mutex);
    while ((int32_t)(*taken - *completed) > 0)
        pthread_cond_wait(cond, mutex);
    pthread_mutex_unlock(mutex);
}
