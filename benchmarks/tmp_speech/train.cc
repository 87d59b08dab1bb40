// argv: model threads epochs lr momentum clip [layers hidden stack]
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <cmath>
#include <numeric>
#include "common/random.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "glog/logging.h"
using namespace ps;
struct U { std::vector<float> f; std::vector<int32_t> l; int n; };
std::vector<U> Load(const char* p) { FILE* f=fopen(p,"rb"); int32_t n; CHECK(fread(&n,4,1,f)); std::vector<U> v(n); for(auto&u:v){int32_t h[2]; CHECK(fread(h,4,2,f)); u.n=h[0]; u.f.resize(h[0]*40); u.l.resize(h[1]); CHECK(fread(u.f.data(),4,u.f.size(),f)); CHECK(fread(u.l.data(),4,u.l.size(),f));} return v; }
Batch Make(const std::vector<U>& d, const int* idx, int B) { Batch b; for(int i=0;i<B;++i) b.steps=std::max<int64_t>(b.steps,d[idx[i]].n); b.inputs.assign(b.steps*B*40,0); for(int i=0;i<B;++i){auto&u=d[idx[i]]; for(int t=0;t<u.n;++t) std::copy_n(&u.f[t*40],40,&b.inputs[(t*B+i)*40]); b.input_lengths.push_back(u.n); b.label_lengths.push_back(u.l.size()); b.labels.insert(b.labels.end(),u.l.begin(),u.l.end());} return b; }
int main(int argc, char** argv) {
  CpuBackendOptions o; o.num_threads = atoi(argv[2]);
  auto backend = *NewCpuBackend(o);
  ModelOptions m; m.config.set_name(argv[1]); m.backend = backend.get();
  if (argc>7) { m.config.mutable_speech_lstm()->set_layers(atoi(argv[7])); m.config.mutable_speech_lstm()->set_hidden(atoi(argv[8])); m.config.mutable_speech_lstm()->set_stack(atoi(argv[9])); }
  m.example.task = Task::kSpeech; m.example.features = 40; m.example.num_classes = 29; m.example.alphabet = "- ABCDEFGHIJKLMNOPQRSTUVWXYZ'";
  auto model = *NewModel(m);
  int64_t n=model->num_parameters();
  Tensor w = *backend->Allocate({n}), g = *backend->Allocate({n}); std::vector<float> v(n);
  model->InitializeWeights(1, w.data());
  auto train=Load("/tmp/speech_tmp/an4_train.bin"), test=Load("/tmp/speech_tmp/an4_test.bin");
  std::vector<int> order(train.size()); std::iota(order.begin(),order.end(),0);
  double lr=atof(argv[4]), mom=atof(argv[5]), clip=atof(argv[6]); RandomStream r(1); const int B=16;
  auto start=absl::Now();
  for (int e=0;e<atoi(argv[3]);++e) {
    for(size_t i=order.size()-1;i>0;--i) std::swap(order[i],order[r.Below(i+1)]);
    double sum=0; int it=0;
    for (size_t i=0;i+B<=order.size();i+=B,++it) {
      Batch b=Make(train,&order[i],B);
      auto res=model->ForwardBackward(b,w,&g,nullptr); CHECK(res.ok())<<res.status(); sum+=res->loss;
      double s=0; for(int64_t p=0;p<n;++p) s+=double(g.data()[p])*g.data()[p]; s=std::sqrt(s);
      float k = clip>0&&s>clip? clip/s:1;
      for(int64_t p=0;p<n;++p){ v[p]=mom*v[p]+k*g.data()[p]; w.data()[p]-=lr*(k*g.data()[p]+mom*v[p]); }
    }
    BatchResult t; std::vector<int> idx(test.size()); std::iota(idx.begin(),idx.end(),0);
    for(size_t i=0;i<test.size();i+=13){ auto res=model->Evaluate(Make(test,&idx[i],13),w); CHECK(res.ok()); t.loss+=res->loss*13; t.character_errors+=res->character_errors; t.characters+=res->characters; t.word_errors+=res->word_errors; t.words+=res->words; }
    printf("epoch %d train %.3f test %.3f CER %.2f WER %.2f  %.0f s\n",e+1,sum/it,t.loss/test.size(),100.0*t.character_errors/t.characters,100.0*t.word_errors/t.words,absl::ToDoubleSeconds(absl::Now()-start)); fflush(stdout);
  }
  for (auto& e: model->layer_times().entries()) printf("%s %.2f %.2f s\n", e.kind.c_str(), absl::ToDoubleSeconds(e.forward), absl::ToDoubleSeconds(e.backward));
  printf("params %ld act MB %ld\n", n, model->activation_bytes()>>20);
}
