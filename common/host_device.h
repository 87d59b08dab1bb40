// Functions that run on the host and, where nvcc compiles them, on a device.
// Headers with such functions include neither Abseil nor anything else that is
// host-only.
#ifndef COMMON_HOST_DEVICE_H_
#define COMMON_HOST_DEVICE_H_

#ifdef __CUDACC__
#define PS_HOST_DEVICE __host__ __device__
#else
#define PS_HOST_DEVICE
#endif

#endif  // COMMON_HOST_DEVICE_H_
