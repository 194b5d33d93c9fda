package dev.genv.enforcer.api.plan;

import jakarta.inject.Inject;
import jakarta.inject.Singleton;

/**
 * The share of the heap for all plan requests together. The service exits if it runs out of memory, so a request reserves an estimate
 * before it is parsed. The cycles need the rest of the heap.
 */
@Singleton
public class PlanMemory {
    private static final int BODIES_SHARE = 16;
    private static final int PLANS_SHARE = 4;
    /** The share of this for bodies. A growing buffer needs up to three times its content. */
    private static final int ANSWER_SHARE = 12;

    private static final int GROWTH = 3;

    private final MemoryPool bodies;
    private final MemoryPool plans;

    @Inject
    PlanMemory() {
        this(Runtime.getRuntime().maxMemory());
    }

    PlanMemory(long heap) {
        bodies = new MemoryPool(heap / BODIES_SHARE);
        plans = new MemoryPool(heap / PLANS_SHARE);
    }

    /** The memory for bodies while they arrive. */
    MemoryPool bodies() {
        return bodies;
    }

    /** The memory for computing plans. */
    public MemoryPool plans() {
        return plans;
    }

    /** Returns the size limit of one body, so that one request cannot use all the memory for bodies. */
    int largestBody() {
        return (int) Math.min(PlanResource.LARGEST_BODY, bodies.size() / 2);
    }

    /** Returns the estimate above which a request is always refused. */
    long largestCost() {
        return plans.size() - answerCost();
    }

    long answerCost() {
        return GROWTH * (long) largestAnswer();
    }

    int largestAnswer() {
        return (int) Math.min(PlanResource.LARGEST_BODY, plans.size() / ANSWER_SHARE);
    }
}
