// Replaces libcuda.so.1, libcublas.so and libcudnn.so: an old driver that sees
// no device, and libraries with other versions.
#include <stddef.h>

int cuInit(unsigned flags) {
  (void)flags;
  return 0;
}

int cuDriverGetVersion(int* version) {
  *version = 9020;
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = 0;
  return 0;
}

int cublasGetProperty(int type, int* value) {
  *value = 71 + type;
  return 0;
}

size_t cudnnGetVersion(void) { return 98765; }
