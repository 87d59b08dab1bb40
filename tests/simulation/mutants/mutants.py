"""Faults that this project had, or could have, as edits of its sources."""

import collections

# fault: what is wrong, for the table. edits: (file, text, what replaces it).
# sessions: whether seeds draw jobs of sessions.
Mutant = collections.namedtuple('Mutant', 'name fault edits sessions',
                                defaults=[False])

MUTANTS = [
    Mutant('alone_at_one',
           'one server that lets a worker come back alone decides for all',
           [('transport/parameter_client.cc',
             'if (alone > 0 && alone < sessions_.size()) {', 'if (false) {')]),
    Mutant('admits_while_reading',
           'a server admits workers while it reads its log',
           [('server/shard_snapshots.cc',
             'if (stage_ != Stage::kUndecided && stage_ != Stage::kReadsLog) {',
             'if (stage_ != Stage::kUndecided) {')]),
    Mutant('pull_any_version', 'a pull takes whatever version comes',
           [('worker/server_state.cc',
             'if (answer.version != needed && !workers_drift_) {',
             'if (false) {'),
            ('server/slice_calls.cc', 'header.worker().rank(), header.iteration(),\n'
             '        [call, arrival, ', 'header.worker().rank(), 0,\n'
             '        [call, arrival, ')]),
    Mutant('impatient_with_logs',
           'the time that a server reads its log counts as that of the start',
           [('server/registration.cc', '      membership_->Await(rank);\n',
             '')]),
    Mutant('acknowledged_before_done',
           'a server ends the job before it marks it done',
           [('server/server.cc',
             '    const absl::Status end = result.ok() ? AllFinished() : result;\n'
             '    EndCalls(end);\n    listener_->Shutdown();\n',
             '    EndCalls(result);\n    listener_->Shutdown();\n'
             '    const absl::Status end = result.ok() ? AllFinished() : result;\n'
             )]),
    Mutant('finish_before_summary',
           'a worker finishes before its summary is written',
           [('worker/trainer.cc',
             '  if (status.ok()) status = records_->WriteSummary(evaluation_, '
             'stopped_early_);\n', ''),
            ('worker/trainer.cc',
             '  result.evaluation = evaluation_;\n  result.totals',
             '  PS_RETURN_IF_ERROR(records_->WriteSummary(evaluation_, '
             'stopped_early_));\n  result.evaluation = evaluation_;\n'
             '  result.totals')]),
    Mutant('removed_in_place', 'snapshots are removed under their names',
           [('storage/snapshot.cc',
             '  const absl::Status renamed = files->Rename(folder, removed);\n'
             '  if (absl::IsNotFound(renamed)) return absl::OkStatus();\n'
             '  PS_RETURN_IF_ERROR(renamed);\n  return files->Remove(removed);',
             '  return files->Remove(folder);')]),
    Mutant('cancelled_is_done',
           'a pull that finds no server fails with the status of its last '
           'attempt',
           [('transport/server_session.cc',
             '  call->status = absl::UnavailableError(call->status.message());\n',
             '')]),
    Mutant('log_of_another_boot',
           'a log is continued that a loss of power has cut',
           [('server/shard_snapshots.cc',
             'if (!options_.log->syncs() && read.boot != BootId()) {',
             'if (false) {')]),
    Mutant('done_worker_leaves',
           'a worker that is done ends though a server does not know it',
           [('transport/parameter_client.cc',
             '      sessions_.reached_any()) {', '      false) {')]),
    Mutant('finished_at_one',
           'a worker that is done tells one server so while another one, which '
           'lives, does not admit it yet',
           [('transport/parameter_client.cc',
             '    if (!sessions_.waits_for_any()) {', '    {')]),
    Mutant('taken_is_unreachable',
           'a worker that is done takes a server that does not admit it yet '
           'for one that is gone',
           [('server/registration.cc',
             '    response->set_not_yet(std::string(joined.status().message()));\n'
             '    return absl::OkStatus();\n',
             '    return joined.status();\n')]),
    Mutant('joined_worker_forgotten',
           'snapshots are removed that a worker that has joined may need',
           [('server/shard_snapshots.cc',
             '    if (!behind_.empty()) written.clear();\n', '')]),
    Mutant('smallest_latest',
           "the smallest of everybody's latest snapshots is taken for one that "
           'all have',
           [('storage/process_snapshots.cc',
             '  MutexLock lock(&mu_);\n  return whole_;\n',
             '  std::set<int64_t> up_to_latest;\n'
             '  for (int64_t n = 0; n <= latest(); ++n) up_to_latest.insert(n);\n'
             '  return up_to_latest;\n')]),
    Mutant('member_after_break',
           'a worker that comes back is a member once its connection breaks',
           [('server/shard_snapshots.cc',
             'else if (newcomers_[worker.rank()] != worker.incarnation()) {',
             'else {')]),
    Mutant('joins_before_weights',
           'workers join a server whose log has no initial weights',
           [('server/registration.cc',
             'snapshots_->up() && shard_->version() >= 0;', 'snapshots_->up();')]),
    Mutant('goes_on_when_stopped',
           'a worker that comes back goes on where others have saved and ended',
           [('server/slice_calls.cc', '  if (stopped_) {\n    held_pushes_',
             '  if (false) {\n    held_pushes_'),
            ('server/server_calls.cc',
             'if (!held_pushes_->empty() || *num_asking_ > 0) {',
             'if (false) {'),
            ('server/registration.cc', '  if (stopped_) return '
             'snapshots_->StartAgain(kStopped);\n', '')]),
    Mutant('stopped_is_finished',
           'a worker that comes back to a job that has stopped is told that it '
           'has finished',
           [('server/registration.cc', '  if (stopped_) return '
             'snapshots_->StartAgain(kStopped);\n', '')]),
    Mutant('credit_ignored',
           'workers send, and servers hold, what there is no credit for',
           [('server/limits/byte_credit.cc',
             '  if (before > 0 && before + bytes > bytes_per_worker()) {',
             '  if (false) {'),
            ('transport/push_window.cc',
             'if (bytes_under_way_ + first->second->bytes + longest_ > '
             'credit_bytes_) {', 'if (false) {')]),
    Mutant('torn_record_kept', 'an incomplete last record is not cut off',
           [('storage/record_log.cc', 'files->Continue(path_, whole_)',
             'files->Continue(path_, static_cast<int64_t>(bytes_->size()))')]),
    Mutant('norms_not_logged', 'norms are not written down',
           [('server/shard.cc', 'return log_->AppendNorms(round, sums);',
             'return sums.empty() ? log_->AppendNorms(round, sums)\n'
             '                          : absl::OkStatus();')]),
    Mutant('manifest_not_synced', 'a snapshot is renamed before it is synced',
           [('storage/snapshot.cc', '  return file->Sync();\n',
             '  return absl::OkStatus();\n')]),
    Mutant('removes_what_is_needed',
           'a snapshot is removed that another process still needs',
           [('storage/snapshot.cc', 'i < size - keep && numbers[i] < needed;',
             'i < size - std::min(keep, 1) && needed >= 0;')]),
    Mutant('sum_as_they_come', 'pushes are added in the order of arrival',
           [('server/slices/strict_admission.cc',
             '    mine = std::move(push);\n    ++num_pushed_;\n',
             '    order_.push_back(push.rank);\n    mine = std::move(push);\n'
             '    ++num_pushed_;\n'),
            ('server/slices/strict_admission.cc',
             'for (auto& push : pushes_) pushes.push_back(*std::move(push));',
             'for (int r : order_) pushes.push_back(*std::move(pushes_[r]));\n'
             '    order_.clear();'),
            ('server/slices/strict_admission.cc', '  int num_pushed_ = 0;\n',
             '  int num_pushed_ = 0;\n  std::vector<int> order_;\n')]),
    Mutant('residuals_lost', 'a worker that goes on forgets its residuals',
           [('worker/worker_snapshots.cc',
             'options_.pipeline->residuals()->Load(parts.at(kResidualsPart))',
             'options_.pipeline->residuals()->Clear()')]),
    Mutant('signal_lost', 'a server does not hear that a worker has finished',
           [('server/membership.cc',
             '  workers_[rank].finished = true;\n'
             '  workers_[rank].lost_since = absl::InfiniteFuture();\n'
             '  changed_.SignalAll();\n',
             '  workers_[rank].finished = true;\n'
             '  workers_[rank].lost_since = absl::InfiniteFuture();\n')]),
    Mutant('leaves_at_first_end',
           'a worker that was asked to end leaves when the first server has',
           [('transport/parameter_client.cc',
             '  if (stopped && !ended.ok()) '
             'sessions_.TellAll(request).IgnoreError();\n', '')]),
    Mutant('joined_forgotten',
           'a restarted server waits at a snapshot for a worker that has joined',
           [('server/registration.cc', 'if (request.joined_after() > 0) {',
             'if (false) {')]),
    Mutant('repeat_dropped',
           'the repeat of a push that a server holds is never answered',
           [('server/held_pushes.h', '      call.swap(it->second);\n', '')]),
    Mutant('registers_once',
           'a worker whose connection breaks does not register again',
           [('transport/server_session.cc',
             '  if (!registered_) return;\n  registered_ = false;\n',
             '  if (!registered_) return;\n')]),
    Mutant('stored_push_lost',
           'a push that a restarted server has counted is not answered',
           [('server/slices/strict_admission.cc',
             'return under_way() ? Arrival::kLate : Arrival::kStored;',
             'return Arrival::kLate;')]),
    Mutant('meeting_forgotten',
           'a restarted server does not remember the last common snapshot',
           [('server/shard_snapshots.cc',
             '  saving_.Remember(latest.number, ToBytes(saved));\n', '')]),
    Mutant('incomplete_log_used',
           'a log that has reached its limit is continued',
           [('server/log/server_log.cc',
             '    failure_ = options_.files->Rename(segment_.path, incomplete);\n'
             '    // Nobody can use it, but everybody sees that it was there.\n'
             '    if (failure_.ok()) {\n'
             '      failure_ = options_.files->Continue(incomplete, 0).status();\n'
             '    }\n    return failure_;\n',
             '    return absl::OkStatus();\n')]),
    Mutant('leader_has_finished',
           'a follower waits for the positions of a leader that has finished',
           [('server/slices/weight_slice.cc',
             'admission_->Hopeless(positions_.Waiting())',
             'admission_->Hopeless({})')], sessions=True),
    Mutant('gives_up_silently', 'a rank that gives up tells no server',
           [('bridge/session.cc', 'told = link_.client->Finish(why);',
             'told = why;')], sessions=True),
    Mutant('drifting_repeat',
           'the repeat of a push counts again where ranks drift apart',
           [('server/slices/stale_admission.cc',
             '    if (push.iteration < worker.taken) return Arrival::kRepeat;\n',
             '')], sessions=True),
]
