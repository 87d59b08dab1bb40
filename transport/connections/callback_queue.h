// Works around a race in gRPC's shutdown.
#ifndef TRANSPORT_CONNECTIONS_CALLBACK_QUEUE_H_
#define TRANSPORT_CONNECTIONS_CALLBACK_QUEUE_H_

namespace ps {

// Keeps gRPC's callback queue alive for the lifetime of the process. gRPC 1.51
// makes one queue for the callback API of all channels and servers of a process
// and destroys it with the last of them. Occasionally its threads then release
// the queue twice, and the process aborts ("prior > 0"). Code that makes a
// channel or a server must call this function first, so that the queue is never
// destroyed. Thread-safe; later calls do nothing.
void KeepCallbackQueue();

}  // namespace ps

#endif  // TRANSPORT_CONNECTIONS_CALLBACK_QUEUE_H_
