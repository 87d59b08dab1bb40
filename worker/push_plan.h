// Plans when a worker pushes its gradient and when it evaluates.
#ifndef WORKER_PUSH_PLAN_H_
#define WORKER_PUSH_PLAN_H_

#include <cstdint>

namespace ps {

struct PushPlanOptions {
  int64_t total_iterations = 0;  // At least 0.
  int64_t local_steps = 1;       // consistency.local_steps
  int64_t evaluate_every = 0;    // In iterations; 0: only at the end.
};

// The plan. A worker pushes after every local_steps iterations, counted anew
// from each evaluation, and before each evaluation; the push before an
// evaluation may therefore cover fewer iterations. All numbers count from 0.
// The plan is the same on every worker.
class PushPlan {
 public:
  explicit PushPlan(const PushPlanOptions& options);

  int64_t num_pushes() const { return num_pushes_; }

  // Push number `push` sends the gradients of iterations [Begin, End).
  int64_t Begin(int64_t push) const;
  int64_t End(int64_t push) const { return Begin(push + 1); }

  // Returns the number of evaluations that are due after this many pushes.
  int64_t NumEvaluations(int64_t pushes) const;

 private:
  PushPlanOptions options_;
  int64_t pushes_per_evaluation_ = 0;
  int64_t num_pushes_ = 0;
};

}  // namespace ps

#endif  // WORKER_PUSH_PLAN_H_
