// `gradsieve doctor`: what this machine has, and what does not work without
// what it lacks.
#ifndef TOOLS_DOCTOR_COMMAND_H_
#define TOOLS_DOCTOR_COMMAND_H_

namespace ps {

// argv[0] is "doctor". Returns the exit code: 0 if training on the CPU works.
int RunDoctorCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_DOCTOR_COMMAND_H_
