// Errors in what pods may do, reach and use.
import {container, podSpec, replaceArg} from './objects.mjs';

const labelled = component =>
    ({podSelector: {matchLabels: {'app.kubernetes.io/component': component}}});

export const plantedInPods = [
  {rule: 'portsExist', what: 'a Service for a port that servers do not have',
   plant: o => { o('Service').spec.ports[0].targetPort = 'rpc'; }},
  {rule: 'portsExist', what: 'metrics at a port that pods do not have',
   target: 'overlays/production',
   plant: o => { o('PodMonitor').spec.podMetricsEndpoints[0].port = 'http'; }},
  {rule: 'programsListenOnPorts', what: 'a server that listens elsewhere',
   plant: o => replaceArg(
       o('StatefulSet'), '--listen=0.0.0.0:50051', '--listen=0.0.0.0:50061')},
  {rule: 'programsListenOnPorts', what: 'metrics for the pod alone',
   plant: o => replaceArg(
       o('Job'), '--metrics-listen=0.0.0.0:9090', '--metrics-listen=127.0.0.1:9090')},
  {rule: 'probesAskHealth', what: 'a restart of workers that wait for servers',
   plant: o => { container(o('Job')).livenessProbe.grpc.service = 'ready'; }},
  {rule: 'probesAskHealth', what: 'a probe of the port with TLS',
   plant: o => { container(o('StatefulSet')).startupProbe.grpc.port = 50051; }},

  {rule: 'trafficIsDeniedByDefault', what: 'no policy for what workers receive',
   plant: o => {
     o('NetworkPolicy', 'gradsieve-default-deny').spec.policyTypes = ['Egress'];
   }},
  {rule: 'processesReachServers', what: 'servers that may not reach server 0',
   plant: o => {
     o('NetworkPolicy', 'gradsieve-server').spec.ingress[0].from = [labelled('worker')];
   }},
  {rule: 'strangersReachNothing', what: 'servers that all pods may reach',
   plant: o => {
     o('NetworkPolicy', 'gradsieve-server').spec.ingress[0].from = [{podSelector: {}}];
   }},
  {rule: 'namesCanBeResolved', what: 'DNS only by TCP',
   plant: o => { o('NetworkPolicy', 'gradsieve-dns').spec.egress[0].ports.shift(); }},

  {rule: 'requestsAreWithinLimits', what: 'a request above the limit',
   plant: o => { container(o('Job')).resources.requests.memory = '2Gi'; }},
  {rule: 'memoryIsReserved', what: 'a server whose memory is not reserved',
   plant: o => { container(o('StatefulSet')).resources.requests.memory = '512Mi'; }},
  {rule: 'memoryIsReserved', what: 'a server without a limit on memory',
   plant: o => { delete container(o('StatefulSet')).resources.limits.memory; }},
  {rule: 'processorsAreNotThrottled', what: 'a server with a limit on processors',
   plant: o => { container(o('StatefulSet')).resources.limits.cpu = '2'; }},
  {rule: 'processorsAreRequested', what: 'a worker that requests no processor',
   plant: o => { delete container(o('Job')).resources.requests.cpu; }},
  {rule: 'serverMemorySuffices', what: 'less memory than plan-memory says',
   plant: o => {
     const {resources} = container(o('StatefulSet'));
     resources.requests.memory = resources.limits.memory = '512Mi';
   }},

  {rule: 'podsAreRestricted', what: 'root',
   plant: o => { delete podSpec(o('Job')).securityContext.runAsNonRoot; }},
  {rule: 'podsAreRestricted', what: 'a file system that can be written',
   plant: o => { delete container(o('Job')).securityContext.readOnlyRootFilesystem; }},
  {rule: 'podsAreRestricted', what: 'a capability',
   plant: o => { container(o('Job')).securityContext.capabilities.add = ['SYS_PTRACE']; }},
  {rule: 'volumesAreRestricted', what: 'a folder of the node',
   plant: o => {
     podSpec(o('Job')).volumes.push({name: 'node', hostPath: {path: '/data'}});
     container(o('Job')).volumeMounts.push({name: 'node', mountPath: '/data'});
   }},
  {rule: 'podsHaveNoTokens', what: 'a token for the Kubernetes API',
   plant: o => { delete podSpec(o('StatefulSet')).automountServiceAccountToken; }},
  {rule: 'podsHaveNoSidecars', what: 'a proxy of Linkerd',
   plant: o => { delete o('Job').spec.template.metadata.annotations; }},
  {rule: 'imagesHaveVersions', what: 'the latest image',
   plant: o => { container(o('Job')).image = 'gradsieve-worker-cpu:latest'; }},
  {rule: 'imagesHaveVersions', what: 'an image of a registry, without a version',
   plant: o => { container(o('Job')).image = 'registry:5000/gradsieve-worker-cpu'; }},
  {rule: 'namespaceIsRestricted', what: 'a namespace that allows everything',
   target: 'overlays/production',
   plant: o => { delete o('Namespace').metadata.labels; }},
];
