#include <cstdio>
#include <cstdlib>
#include "common/random.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "glog/logging.h"
using namespace ps;
int main(int argc, char** argv) {
  CpuBackendOptions o; o.num_threads = argc > 2 ? atoi(argv[2]) : 1;
  auto backend = *NewCpuBackend(o);
  ModelOptions m; m.config.set_name(argv[1]); m.backend = backend.get();
  m.example.task = Task::kSpeech; m.example.features = 40; m.example.num_classes = 29; m.example.alphabet = std::string(29,'x');
  auto model = *NewModel(m);
  Tensor w = *backend->Allocate({model->num_parameters()}), g = *backend->Allocate({model->num_parameters()});
  model->InitializeWeights(1, w.data());
  RandomStream r(1);
  Batch b; b.steps = 512; int B = 16;
  for (int i = 0; i < B; ++i) { b.input_lengths.push_back(i ? 270 : 512); b.label_lengths.push_back(20); for (int j=0;j<20;++j) b.labels.push_back(1+r.Below(28)); }
  b.inputs.resize(512*B*40);
  for (int t=0;t<512;++t) for (int i=0;i<B;++i) for(int f=0;f<40;++f) b.inputs[(t*B+i)*40+f] = t<b.input_lengths[i]? r.Uniform(-1,1):0;
  for (int i=0;i<4;++i) {
    if (i==1) model->layer_times().Clear();
    auto s=absl::Now();
    auto res=model->ForwardBackward(b,w,&g,nullptr); CHECK(res.ok())<<res.status();
    printf("loss %f %.1f ms\n", res->loss, absl::ToDoubleMilliseconds(absl::Now()-s));
    for (int64_t p=0;p<w.size();++p) w.data()[p]-=0.001f*g.data()[p];
  }
  for (auto& e: model->layer_times().entries()) printf("%s %.2f %.2f ms\n", e.kind.c_str(), absl::ToDoubleMilliseconds(e.forward)/3, absl::ToDoubleMilliseconds(e.backward)/3);
  printf("params %ld act MB %ld\n", model->num_parameters(), model->activation_bytes()>>20);
}
