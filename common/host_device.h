// PS_HOST_DEVICE marks functions that run on the host and, where nvcc compiles
// them, on a device. Headers with such functions include neither Abseil nor
// anything else that is host-only.
#ifndef COMMON_HOST_DEVICE_H_
#define COMMON_HOST_DEVICE_H_

// PS_DEVICE_CALL marks one that is not inlined on the device, where scalar code
// would take registers from the loops around it, and be repeated many times.
#ifdef __CUDACC__
#define PS_HOST_DEVICE __host__ __device__
#define PS_DEVICE_CALL __host__ __device__ __noinline__
#else
#define PS_HOST_DEVICE
#define PS_DEVICE_CALL
#endif

#endif  // COMMON_HOST_DEVICE_H_
