// A guard against a race in gRPC's own shutdown.
#ifndef TRANSPORT_CALLBACK_QUEUE_H_
#define TRANSPORT_CALLBACK_QUEUE_H_

namespace ps {

// Keeps gRPC's callback queue for as long as the process lives. gRPC 1.51 makes
// one queue for the callback API of all channels and servers of a process, and
// takes it down with the last of them; its threads then let go of the queue
// twice now and then, and the process aborts ("prior > 0"). Whoever makes a
// channel or a server calls this first, so that there is never a last one.
// Thread-safe; later calls do nothing.
void KeepCallbackQueue();

}  // namespace ps

#endif  // TRANSPORT_CALLBACK_QUEUE_H_
