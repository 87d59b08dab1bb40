// A small job with stages, for tests.
#ifndef TESTS_WORKER_LAYER_PARALLEL_SMALL_JOB_H_
#define TESTS_WORKER_LAYER_PARALLEL_SMALL_JOB_H_

#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "proto/config.pb.h"

namespace ps {

// A network with two residual blocks on generated digits. An epoch has three
// batches, and leaves out four examples.
inline JobConfig SmallJob() {
  JobConfig job;
  CHECK(google::protobuf::TextFormat::ParseFromString(R"(
    name: "stages"
    data { name: "digits" digits { train_examples: 52 test_examples: 40 } }
    model { name: "layers" layers {
      layer { name: "conv" convolution {
        out_channels: 8 kernel_size: 3 stride: 2 padding: 1 } }
      layer { name: "norm" batch_norm {} }
      layer { activation: "relu" }
      layer { name: "block1" residual {
        layer { name: "conv" convolution {
          out_channels: 8 kernel_size: 3 padding: 1 } }
        layer { name: "norm" batch_norm {} } } }
      layer { name: "block2" residual {
        layer { name: "conv1" convolution {
          out_channels: 32 kernel_size: 3 padding: 1 stride: 2 } }
        layer { activation: "relu" }
        layer { name: "conv2" convolution {
          out_channels: 32 kernel_size: 3 padding: 1 } }
        layer { name: "norm" batch_norm {} }
        shortcut { subsampling { out_channels: 32 } } } }
      layer { global_pooling {} }
      layer { name: "head" linear {} } } }
    training { batch_size: 16 epochs: 6 layer_parallel {
      stages: 3 warm_start_epochs: 2 parallel_epochs: 2 serial_epochs: 2
      wire_format: FP32 } }
    machine { device: "cpu" worker_threads: 1 }
    cluster { num_workers: 1 }
  )",
                                                      &job));
  return job;
}

inline LayerParallelConfig* Section(JobConfig* job) {
  return job->mutable_training()->mutable_layer_parallel();
}

}  // namespace ps

#endif  // TESTS_WORKER_LAYER_PARALLEL_SMALL_JOB_H_
