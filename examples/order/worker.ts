import { createWorker, TerminalError, type Worker } from 'rondo/worker';
import { type Connection, runUntilStopped } from '../connection.ts';

type OrderTasks = {
  reserve_stock: { input: { orderId: string; items: string[] }; output: { reservationId: string } };
  authorize_payment: { input: { card: string; total: number }; output: { paymentId: string } };
  screen_payment: { input: { paymentId: string; total: number }; output: { risk: number } };
  review_order: { input: { orderId: string; risk: number }; output: { by: string } };
  ship_order: { input: { orderId: string; reservationId: string }; output: { trackingId: string } };
  notify_customer: { input: { orderId: string; reason: string }; output: { sent: boolean } };
};

export const createOrderWorker = (connection: Connection): Worker =>
  createWorker<OrderTasks>({
    ...connection,
    concurrency: 20,
    handlers: {
      reserve_stock: ({ input }) => ({ reservationId: `stock-${input.orderId}-${input.items.length}` }),
      authorize_payment: ({ input, workflowId }) => {
        if (input.card === 'declined') throw new TerminalError('card declined');
        return { paymentId: `payment-${workflowId}` };
      },
      screen_payment: ({ input }) => ({ risk: input.total >= 10_000 ? 0.9 : 0.1 }),
      review_order: ({ input }) => ({ by: input.risk > 0.8 ? 'senior reviewer' : 'reviewer' }),
      ship_order: ({ input, attempt }, context) => {
        context.log(`attempt ${attempt} for ${input.reservationId}`);
        // The first call to the carrier fails, as it does in life; the engine comes back a second later.
        if (attempt === 1) throw new Error('the carrier is busy');
        return { trackingId: `track-${input.orderId}` };
      },
      notify_customer: ({ input }, context) => {
        context.log(`order ${input.orderId}: ${input.reason}`);
        return { sent: true };
      },
    },
  });

if (import.meta.main) await runUntilStopped(createOrderWorker);
