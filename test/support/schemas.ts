import { createAjvValidator } from '../../src/adapters/json-schema/ajv-validator.ts';
import { evaluateScript } from './scripts.ts';

/** The real validator: it is pure, so the kernel's tests may use it. */
export const { firstViolation: findViolation } = createAjvValidator(evaluateScript);
