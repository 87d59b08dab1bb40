// Data, jobs and models, as people give them.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/batch.h"
#include "common/config.h"
#include "common/config_check.h"
#include "common/status_macros.h"
#include "data/byte_alphabet.h"
#include "data/cifar_records.h"
#include "data/decode_image.h"
#include "data/gunzip.h"
#include "data/idx.h"
#include "data/text_pair.h"
#include "data/transcripts.h"
#include "data/vocabulary.h"
#include "data/wav.h"
#include "formats/npy_header.h"
#include "formats/safetensors.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "models/described/described_layers.h"
#include "models/onnx/export.h"
#include "models/onnx/import.h"
#include "proto/onnx.pb.h"
#include "tests/data/encode_image_for_test.h"
#include "tests/data/gzip_for_test.h"
#include "tests/fuzz/parsers.h"

namespace ps {
namespace {

absl::Status FuzzSafetensors(absl::string_view bytes) {
  return ParseSafetensors(bytes).status();
}

absl::Status FuzzNpy(absl::string_view bytes) {
  PS_ASSIGN_OR_RETURN(const NpyTextRange text, ParseNpyPreamble(bytes));
  if (text.end > static_cast<int64_t>(bytes.size())) {
    return absl::DataLossError("the file ends in its header");
  }
  return ParseNpyText(bytes.substr(text.begin, text.end - text.begin)).status();
}

absl::Status FuzzIdx(absl::string_view bytes) {
  ParseIdx(bytes, 1).IgnoreError();
  return ParseIdx(bytes, 3).status();
}

absl::Status FuzzCifar(absl::string_view bytes) {
  ByteImages images = NoCifarImages(100);
  return AppendCifarRecords(bytes, /*label_bytes=*/2, &images);
}

// Each half is a text of its own.
absl::Status FuzzText(absl::string_view bytes) {
  const NamedText train{"train", bytes.substr(0, bytes.size() / 2)};
  const NamedText test{"test", bytes.substr(bytes.size() / 2)};
  NewCharacterPair(ByteAlphabet(bytes), train, test, 3).status().IgnoreError();
  return NewWordPair(Vocabulary::Of(train.text), train, test, 3).status();
}

absl::Status FuzzGzip(absl::string_view bytes) {
  return Gunzip(bytes, 1 << 16).status();
}

absl::Status FuzzImage(absl::string_view bytes) {
  return DecodeImage(bytes).status();
}

absl::Status FuzzWav(absl::string_view bytes) {
  return ParseWav(bytes).status();
}

absl::Status FuzzTranscripts(absl::string_view bytes) {
  return ParseTranscripts(bytes).status();
}

const ExampleShape& GreyImages() {
  static const ExampleShape* const images = [] {
    auto* const made = new ExampleShape;
    made->channels = 1;
    made->height = made->width = 9;
    made->num_classes = 3;
    return made;
  }();
  return *images;
}

absl::Status FuzzJob(absl::string_view bytes) {
  PS_ASSIGN_OR_RETURN(const JobConfig config, ParseConfig(bytes, "fuzzed"));
  ConfigProblems problems;
  MakeDescribedLayers(config.model().layers(), &GreyImages(), &problems);
  return ValidateConfig(config);
}

absl::Status FuzzOnnx(absl::string_view bytes) {
  return ImportOnnx(bytes).status();
}

// The same model, whose float constants are computed by nodes.
std::string WithComputedConstants(const std::string& bytes) {
  onnx::ModelProto model;
  CHECK(model.ParseFromString(bytes));
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::GraphProto layers;
  layers.mutable_node()->Swap(graph.mutable_node());
  const auto add = [&graph](const std::string& op,
                            const std::vector<std::string>& inputs,
                            const std::string& output) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
  };
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT) continue;
    const std::string name = tensor.name();
    tensor.set_name(name + ".0");
    add("Unsqueeze", {name + ".0", "zero"}, name + ".1");
    add("Slice", {name + ".1", "zero", "one", "zero"}, name + ".2");
    add("Transpose", {name + ".2"}, name + ".3");
    add("Transpose", {name + ".3"}, name + ".4");
    add("Concat", {name + ".4"}, name + ".5");
    add("Gather", {name + ".5", "zero"}, name + ".6");
    add("Shape", {name + ".6"}, name + ".7");
    add("Expand", {name + ".6", name + ".7"}, name + ".8");
    add("Split", {name + ".8"}, name + ".9");
    add("Squeeze", {name + ".9", "zero"}, name);
  }
  for (const int value : {0, 1}) {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(value == 0 ? "zero" : "one");
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(1);
    tensor.add_int64_data(value);
  }
  graph.mutable_node()->MergeFrom(layers.node());
  CHECK(ImportOnnx(model.SerializeAsString()).ok());
  return model.SerializeAsString();
}

// Small networks with every kind of layer that ONNX has.
std::vector<std::string> OnnxFiles() {
  ExampleShape text;
  text.task = Task::kWords;
  text.steps = 2;
  text.num_classes = 3;
  std::vector<std::string> files;
  for (const auto& [example, layers] :
       {std::make_pair(
            GreyImages(),
            R"(layer { convolution { out_channels: 2 kernel_size: 3 } }
                          layer { max_pooling { kernel_size: 2 } }
                          layer { residual {
                            layer { convolution { out_channels: 4 kernel_size: 1
                                                  stride: 2 } }
                            layer { batch_norm {} }
                            shortcut { subsampling { out_channels: 4 } } } }
                          layer { activation: "tanh" }
                          layer { global_pooling {} }
                          layer { linear {} })"),
        std::make_pair(text, R"(layer { embedding { features: 2 } }
                                layer { lstm { hidden: 2 layers: 2
                                               dropout: 0.5 } }
                                layer { gru { hidden: 2 } }
                                layer { linear {} })")}) {
    LayersConfig config;
    CHECK(google::protobuf::TextFormat::ParseFromString(layers, &config));
    ConfigProblems problems;
    const DescribedLayers made =
        MakeDescribedLayers(config, &example, &problems);
    CHECK(problems.lines().empty()) << problems.lines()[0];
    std::vector<SafetensorsTensor> tensors;
    const auto add = [&](const std::string& name, const Shape& shape) {
      tensors.push_back(
          {name, shape, "F32", std::vector<float>(NumElements(shape), 0.5f)});
    };
    for (const auto& layer : made.layers) {
      for (const auto& p : layer->parameters()) add(p.name, p.shape);
      for (const auto& s : layer->statistics()) add(s.name, s.shape);
    }
    const auto bytes = ExportOnnx(config, example, tensors);
    CHECK(bytes.ok()) << bytes.status();
    files.push_back(*bytes);
    files.push_back(WithComputedConstants(*bytes));
  }
  return files;
}

absl::Status FuzzOverride(absl::string_view bytes) {
  JobConfig config;
  config.mutable_model()->mutable_layers()->add_layer();
  return ApplyOverride(bytes, &config);
}

std::vector<std::string> Images() {
  std::vector<std::string> images;
  for (const int channels : {1, 3}) {
    EncodeOptions options;
    options.width = options.height = 9;
    options.channels = channels;
    const std::vector<uint8_t> pixels(9 * 9 * channels, 77);
    for (const bool progressive : {false, true}) {
      options.progressive = progressive;
      images.push_back(EncodeJpeg(pixels, options));
      images.push_back(EncodePng(pixels, options));
    }
  }
  return images;
}

std::string WavBytes() {
  std::string wav("RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", 24);
  wav += std::string("\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0", 20);
  return wav + std::string("\1\2\3\4\5\6\7\x08", 8);
}

std::string IdxBytes() {
  return std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02", 16) +
         "abcdefgh";
}

std::string SafetensorsSeed() {
  const std::string header =
      R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  return bytes + header + std::string(8, '\1');
}

}  // namespace

std::vector<FuzzedParser> ParsersOfFiles() {
  const std::string npy =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n";
  return {
      {"safetensors", FuzzSafetensors, {SafetensorsSeed()}},
      {"npy",
       FuzzNpy,
       {std::string("\x93NUMPY\x01\0", 8) +
        std::string(1, static_cast<char>(npy.size())) + std::string(1, '\0') +
        npy}},
      {"idx", FuzzIdx, {IdxBytes()}},
      {"cifar", FuzzCifar, {std::string(3074, '\7')}},
      {"text", FuzzText, {"a b c\na b c\na b c\na b c\n"}},
      {"gzip", FuzzGzip, {GzipForTest("some text, some text, some text")}},
      {"image", FuzzImage, Images()},
      {"wav", FuzzWav, {WavBytes()}},
      {"transcripts", FuzzTranscripts, {"a.wav\tsome words\n\nb.wav\tmore\n"}},
      {"job",
       FuzzJob,
       {"name: \"a\" model { name: \"mlp\" mlp { hidden_units: 8 } } "
        "data { name: \"digits\" } compressor { name: \"sidco_e\" ratio: 0.01 "
        "} "
        "cluster { num_workers: 2 num_servers: 1 servers: \"a:1\" }",
        "model { name: \"layers\" layers { "
        "layer { convolution { out_channels: 6 kernel_size: [5, 3] } } "
        "layer { residual { layer { convolution { out_channels: 6 kernel_size: "
        "3 padding: 1 } } layer { batch_norm {} } } } "
        "layer { flatten {} } layer { linear { initial_weight { normal: 0.1 } "
        "} "
        "} } }"}},
      {"onnx", FuzzOnnx, OnnxFiles()},
      {"override",
       FuzzOverride,
       {"compressor.ratio=0.001", "cluster.servers=a:1, b:2",
        "model.layers.layer[0].linear.out_features=8",
        "compressor.index_code=\"rice\""}},
  };
}

}  // namespace ps
