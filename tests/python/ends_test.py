"""Whatever way a process ends, the others hear of it, and of nothing else."""

import os
import signal
import time
import unittest

import torch

import gradsieve.torch as gs
from ranks import Job, end, wait_for_line

# A rank that waits for the other one within its second step.
WAITING = '''
    gs.init()
    gs.DistributedOptimizer(optimizer, model)
    step()
    say('stepped')
    try:
        step()
    except BaseException:
        say('heard')
        raise
    gs.finish()
'''


class EndsTest(unittest.TestCase):

    def check_others_hear(self, script, reason, code, send=None, seconds=1.0,
                          **variables):
        """Rank 1 runs the script, which ends after one step; rank 0 must hear why
        within this time."""
        with Job() as job:
            other = job.script(0, WAITING)
            ending = job.script(1, script, **variables)
            wait_for_line(other, 'stepped')
            wait_for_line(ending, 'ends')
            start = time.monotonic()
            ending.stdin.write('\n')
            ending.stdin.flush()
            if send is not None:
                send(ending)
            else:
                # Python itself may take longer to end.
                wait_for_line(ending, 'told')
                self.assertLess(time.monotonic() - start, 3)
            wait_for_line(other, 'heard')
            self.assertLess(time.monotonic() - start, 3 + seconds)
            ended, _, err = end(ending)
            self.assertEqual(ended, code, err)
            heard, _, other_err = end(other)
        self.assertEqual(heard, gs.JobFailed.exit_code)
        self.assertIn('JobFailed: ', other_err)
        self.assertIn('worker 1 ', other_err)
        self.assertRegex(other_err, reason)
        return err

    BEGINNING = '''
        import atexit
        atexit.register(say, 'told')  # Called after that of gs.init.
        gs.init()
        gs.DistributedOptimizer(optimizer, model)
        step()
        say('ends')
        sys.stdin.readline()  # The other rank has its answer, too.
    '''

    def test_the_end_of_the_script(self):
        err = self.check_others_hear(
            self.BEGINNING, 'the script ended without gradsieve.finish', 0)
        self.assertIn('rank 1: the script ended without gradsieve.finish()', err)

    def test_an_exception(self):
        self.check_others_hear(self.BEGINNING + '''
        raise ValueError('no such file')
        ''', 'ValueError: no such file', 1)

    def test_sys_exit(self):
        self.check_others_hear(self.BEGINNING + '''
        sys.exit(7)
        ''', 'the script ended without', 7)

    def test_sigterm(self):
        self.check_others_hear(self.BEGINNING + '''
        time.sleep(60)
        ''', 'its training process has ended', -signal.SIGTERM,
                               lambda process: process.terminate())

    def test_kill(self):
        self.check_others_hear(self.BEGINNING + '''
        time.sleep(60)
        ''', 'its training process has ended', -signal.SIGKILL,
                               lambda process: process.kill())

    def test_kill_while_a_data_loader_has_workers(self):
        # They are forks, and live on for a while.
        self.check_others_hear('''
        gs.init()
        gs.DistributedOptimizer(optimizer, model)
        step()
        if os.fork() == 0:
            os.close(1)
            os.close(2)
            time.sleep(5)
            os._exit(0)
        say('ends')
        time.sleep(60)
        ''', 'its training process has ended', -signal.SIGKILL,
                               lambda process: process.kill())

    def test_a_rank_that_makes_fewer_steps(self):
        def unequal(rank):
            model = torch.nn.Linear(64, 64)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            gs.DistributedOptimizer(optimizer, model)
            for _ in range(3 - rank):
                optimizer.zero_grad()
                model(torch.ones(1, 64)).sum().backward()
                optimizer.step()
        with Job() as job:
            first, second = job.run(unequal)
        for error, kind in (first, gs.ConfigError), (second, gs.JobFailed):
            self.assertIsInstance(error, kind)
            self.assertIn('worker 1 has finished after push 1 (counted from 0), '
                          'and worker 0 makes another one', str(error))

    def test_a_rank_that_is_started_again_joins_those_that_do_not_wait(self):
        begin = '''
            gs.init()
            gs.DistributedOptimizer(optimizer, model)
        '''
        with Job(more='consistency { mode: ASYNCHRONOUS min_workers: 1 }') as job:
            first = job.script(0, begin + '''
            while not os.path.exists(os.environ['GRADSIEVE_JOB'] + '.end'):
                step()
            gs.finish()
            ''')
            code, _, _ = end(job.script(1, begin + '''
            step()
            os.kill(os.getpid(), signal.SIGKILL)
            '''))
            self.assertEqual(code, -signal.SIGKILL)
            again = job.script(1, begin + '''
            step()
            say('joined')
            gs.finish()
            ''')
            wait_for_line(again, 'joined')
            with open(job.path + '.end', 'w'):
                pass
            for process in first, again:
                code, _, err = end(process)
                self.assertEqual(code, 0, err)

    def test_averages_need_ranks_at_the_same_step(self):
        def average(rank):
            model = torch.nn.Linear(64, 64)
            gs.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1),
                                    model)
            gs.average({'rank': rank})
        with Job(ranks=1, more='consistency { mode: ASYNCHRONOUS }') as job:
            error, = job.run(average)
        self.assertIsInstance(error, gs.ConfigError)
        self.assertIn('AVERAGE needs consistency.mode SYNCHRONOUS', str(error))

    def test_an_error_before_the_optimizer(self):
        with Job(ranks=1) as job:
            code, _, err = end(job.script(0, '''
                gs.init()
                raise ValueError('early')
            '''))
            self.assertEqual(code, 1)
            self.assertIn('ValueError: early', err)

    def test_ctrl_c_in_a_step(self):
        with Job() as job:
            # The other one waits in its second step, which does not come.
            waiting = job.script(0, WAITING)
            idle = job.script(1, '''
                gs.init()
                gs.DistributedOptimizer(optimizer, model)
                step()
                say('stepped')
                time.sleep(5)
                step()
            ''')
            wait_for_line(waiting, 'stepped')
            wait_for_line(idle, 'stepped')
            time.sleep(0.3)
            start = time.monotonic()
            waiting.send_signal(signal.SIGINT)
            wait_for_line(waiting, 'heard')
            self.assertLess(time.monotonic() - start, 1)
            code, _, err = end(waiting)
            self.assertEqual(code, -signal.SIGINT)
            self.assertIn('KeyboardInterrupt', err)
            code, _, err = end(idle)
            self.assertEqual(code, gs.JobFailed.exit_code)
            self.assertIn('worker 0', err)
            self.assertIn('KeyboardInterrupt', err)

    def test_sigterm_in_a_step(self):
        with Job() as job:
            waiting = job.script(0, WAITING)
            other = job.script(1, WAITING.replace(
                "say('stepped')", "say('stepped'); sys.stdin.readline()"))
            wait_for_line(waiting, 'stepped')
            wait_for_line(other, 'stepped')
            time.sleep(0.3)
            waiting.terminate()
            self.assertEqual(end(waiting)[0], -signal.SIGTERM)
            start = time.monotonic()
            other.stdin.write('\n')
            other.stdin.flush()
            wait_for_line(other, 'heard')
            self.assertLess(time.monotonic() - start, 1)
            code, _, err = end(other)
        self.assertEqual(code, gs.JobFailed.exit_code)
        self.assertIn('worker 0 ', err)

    def test_nothing_but_the_end_is_left_after_an_interruption(self):
        with Job() as job:
            script = job.script(0, '''
                gs.init()
                gs.DistributedOptimizer(optimizer, model)
                step()
                say('stepped')
                try:
                    step()
                except KeyboardInterrupt:
                    pass
                try:
                    step()
                except gs.Interrupted as error:
                    say(str(error))
                    sys.exit(3)
            ''')
            other = job.script(1, WAITING.replace("say('stepped')",
                                                  "say('stepped'); time.sleep(60)"))
            wait_for_line(script, 'stepped')
            wait_for_line(other, 'stepped')
            time.sleep(0.3)
            script.send_signal(signal.SIGINT)
            code, out, err = end(script)
            self.assertEqual(code, 3, err)
            self.assertIn('an exchange of rank 0 was interrupted by '
                          'KeyboardInterrupt, and cannot go on', out)
            other.kill()
            end(other)

    def test_a_killed_server_is_named(self):
        with Job(servers=1) as job:
            script = job.script(0, WAITING)
            other = job.script(1, WAITING.replace("say('stepped')",
                                                  "say('stepped'); time.sleep(60)"))
            wait_for_line(script, 'stepped')
            wait_for_line(other, 'stepped')
            job.servers[0].kill()
            code, _, err = end(script)
            other.kill()
            end(other)
        self.assertEqual(code, gs.ServerLost.exit_code)
        self.assertIn('gradsieve._errors.ServerLost: ', err)
        self.assertIn('server 0 at unix:', err)

    def test_a_killed_bridge_is_named(self):
        with Job(ranks=1) as job:
            script = job.script(0, '''
                gs.init()
                gs.DistributedOptimizer(optimizer, model)
                step()
                bridge = gs._state.session._process.pid
                os.kill(bridge, signal.SIGKILL)
                start = time.monotonic()
                try:
                    step()
                except gs.Error as error:
                    say('%s %r' % (error, time.monotonic() - start < 1))
                    say('%d' % bridge)
                    os._exit(0)
            ''')
            _, out, err = end(script)
        text, bridge = out.splitlines()
        self.assertEqual(text, 'the bridge of worker 0 (process %s) was killed by '
                         'signal 9; its last lines on standard error may say why '
                         'True' % bridge, err)

    def test_a_server_that_never_comes_is_named(self):
        with Job(ranks=1, start_servers=False) as job:
            code, _, err = end(job.script(0, '''
                gs.init(fields={'cluster.startup_timeout_seconds': 0.3})
                gs.DistributedOptimizer(optimizer, model)
            '''))
        self.assertEqual(code, gs.StartupTimeout.exit_code)
        self.assertIn('StartupTimeout: server 0 at unix:', err)

    def test_a_call_may_take_no_longer_than_its_timeout(self):
        with Job() as job:
            code, _, err = end(job.script(0, '''
                gs.init(timeout=0.5)
                gs.DistributedOptimizer(optimizer, model)
                step()
            '''))
        self.assertEqual(code, 1)
        self.assertIn('was not answered within 0.5 s (the timeout of '
                      'gradsieve.init)', err)

    def test_a_step_that_is_not_finite_is_named(self):
        def diverge(rank):
            model = torch.nn.Linear(64, 64)
            optimizer = torch.optim.SGD(model.parameters(), lr=1e38)
            gs.DistributedOptimizer(optimizer, model)
            for _ in range(3):
                (model(torch.ones(1, 64)).sum() * 1e10).backward()
                optimizer.step()
        with Job(ranks=1) as job:
            error, = job.run(diverge)
        self.assertIsInstance(error, gs.NotFinite)
        self.assertIn('the weights of worker 0 are not finite', str(error))
        self.assertEqual(error.rank, 0)


class ForksTest(unittest.TestCase):

    def test_a_child_may_not_use_the_session_and_the_parent_goes_on(self):
        def fork(rank):
            model = torch.nn.Linear(64, 64)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            gs.DistributedOptimizer(optimizer, model)
            model(torch.ones(1, 64)).sum().backward()
            optimizer.step()
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                texts = []
                for call in optimizer.step, gs.stats, gs.finish, gs.rank, gs.init:
                    try:
                        call()
                    except gs.Forked as error:
                        texts.append(str(error))
                os.write(writer, '\n'.join(texts).encode())
                os._exit(0)
            os.close(writer)
            os.waitpid(child, 0)
            with os.fdopen(reader) as file:
                texts = file.read().splitlines()
            optimizer.step()
            return texts, gs.stats()['steps']
        with Job() as job:
            for texts, steps in job.results(fork):
                self.assertEqual(len(texts), 5)
                for text in texts:
                    self.assertIn('only the process that called gradsieve.init may '
                                  'use it', text)
                self.assertEqual(steps, 2)

    def test_data_loaders_with_workers_from_before_and_after(self):
        script = '''
            data = torch.utils.data.TensorDataset(torch.randn(16, 64))
            def loader():
                return torch.utils.data.DataLoader(
                    data, batch_size=4, num_workers=2,
                    multiprocessing_context='fork')
            first = iter(loader())
            gs.init()
            gs.DistributedOptimizer(optimizer, model)
            for batches in first, loader():
                for inputs, in batches:
                    optimizer.zero_grad()
                    model(inputs).sum().backward()
                    optimizer.step()
            say('%d' % gs.stats()['steps'])
            gs.finish()
        '''
        with Job() as job:
            scripts = [job.script(rank, script) for rank in range(2)]
            for started in scripts:
                code, out, err = end(started, 90)
                self.assertEqual((code, out), (0, '8\n'), err)


if __name__ == '__main__':
    unittest.main()
