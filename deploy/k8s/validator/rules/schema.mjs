// What the API server checks of one object.
import {jobsetErrors} from '../schema/jobset.mjs';
import {modelErrors, modelPath} from '../schema/models.mjs';
import {unknownFields} from '../schema/fields.mjs';

function named({kind, metadata}, errors) {
  return errors.map(error => `${kind} ${metadata.name}: ${error}`);
}

export function kindIsKnown(m) {
  return m.objects.filter(object => object.kind !== 'JobSet' && !modelPath(object))
      .map(({apiVersion, kind, metadata}) =>
          `${kind} ${metadata.name}: there is no schema for ${apiVersion} ${kind}`);
}

export function schemaIsMet(m) {
  return m.objects.filter(modelPath)
      .flatMap(object => named(object, modelErrors(object)));
}

export function fieldsExist(m) {
  return m.objects.filter(modelPath).flatMap(object => named(
      object, unknownFields(object, modelPath(object))
          .map(path => `${path} is no field`)));
}

export function jobsetIsValid(m) {
  return m.all('JobSet').flatMap(object => named(object, jobsetErrors(object)));
}
