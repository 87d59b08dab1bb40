#include "tests/cluster/in_process_cluster.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/server.h"

namespace ps {

bool ClusterRun::ok() const {
  for (const auto& worker : workers) {
    if (!worker.ok()) return false;
  }
  for (const auto& server : servers) {
    if (!server.ok()) return false;
  }
  return true;
}

namespace {

ClusterRun Run(const JobConfig& config, const std::string& run_directory,
               std::optional<bool> overlap_compression,
               const std::function<bool(int rank, int push)>& asked_to_stop) {
  ClusterRun run;
  JobConfig job = config;
  std::vector<std::unique_ptr<Server>> servers;
  for (int i = 0; i < config.cluster().num_servers(); ++i) {
    ServerOptions options;
    options.config = job;
    options.index = i;
    options.listen = "127.0.0.1:0";
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
    if (!server.ok()) {
      ADD_FAILURE() << server.status();
      return run;
    }
    job.mutable_cluster()->add_servers((*server)->address());
    servers.push_back(*std::move(server));
  }
  run.servers.resize(servers.size());
  run.workers.assign(config.cluster().num_workers(),
                     absl::UnknownError("did not run"));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < servers.size(); ++i) {
    threads.emplace_back([&, i] { run.servers[i] = servers[i]->Wait(); });
  }
  for (int rank = 0; rank < config.cluster().num_workers(); ++rank) {
    threads.emplace_back([&, rank] {
      TrainerOptions options;
      options.config = job;
      options.worker_rank = rank;
      options.incarnation = 100 + rank;
      options.name = absl::StrCat("thread:", rank);
      options.overlap_compression = overlap_compression;
      if (rank == 0) options.run_directory = run_directory;
      if (asked_to_stop != nullptr) {
        options.asked_to_stop = [&, rank, push = 0]() mutable {
          return asked_to_stop(rank, push++);
        };
      }
      run.workers[rank] = Train(options);
      if (run.workers[rank].ok() || config.consistency().min_workers() > 0) {
        return;
      }
      for (const auto& server : servers) {
        server->Stop(run.workers[rank].status());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return run;
}

}  // namespace

ClusterRun RunCluster(const JobConfig& config, const std::string& run_directory,
                      std::optional<bool> overlap_compression) {
  return Run(config, run_directory, overlap_compression, nullptr);
}

ClusterRun RunClusterUntil(const JobConfig& config,
                           const std::string& run_directory,
                           const std::function<bool(int push)>& asked_to_stop) {
  const int last = config.cluster().num_workers() - 1;
  return Run(config, run_directory, {}, [&](int rank, int push) {
    return rank == last && asked_to_stop(push);
  });
}

ClusterRun RunClusterHeld(
    const JobConfig& config,
    const std::function<void(int rank, int push)>& before_push) {
  return Run(config, "", {}, [&](int rank, int push) {
    before_push(rank, push);
    return false;
  });
}

JobConfig SmallJob(int num_workers, int num_servers) {
  JobConfig job;
  job.mutable_model()->set_name("lenet5");
  job.mutable_data()->set_name("digits");
  job.mutable_data()->mutable_digits()->set_train_examples(1000);
  job.mutable_data()->mutable_digits()->set_test_examples(200);
  job.mutable_training()->set_batch_size(16);
  job.mutable_training()->set_max_iterations(12);
  job.mutable_optimizer()->set_name("momentum");
  job.mutable_optimizer()->set_learning_rate(0.05);
  job.mutable_optimizer()->set_weight_decay(1e-4);
  job.mutable_cluster()->set_num_workers(num_workers);
  job.mutable_cluster()->set_num_servers(num_servers);
  job.mutable_security()->set_mode(SecurityConfig::INSECURE);
  // All workers share this process's cores.
  job.mutable_machine()->set_worker_threads(1);
  return job;
}

}  // namespace ps
