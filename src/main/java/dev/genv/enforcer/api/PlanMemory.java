package dev.genv.enforcer.api;

import jakarta.inject.Inject;
import jakarta.inject.Singleton;

/**
 * The part of the heap that all requests for plans together may use. A service that runs out of memory ends, so a request
 * reserves what it needs by an estimate before it is read into objects. The cycles need the rest of the heap.
 */
@Singleton
public class PlanMemory {
    private static final int BODIES_SHARE = 16;
    private static final int PLANS_SHARE = 4;
    /** Of what plans may use. A buffer that grows takes up to three times what is in it. */
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

    /** For bodies while they arrive. */
    MemoryPool bodies() {
        return bodies;
    }

    /** For what is made of them. */
    MemoryPool plans() {
        return plans;
    }

    /** No single one may take all that there is for bodies. */
    int largestBody() {
        return (int) Math.min(PlanResource.LARGEST_BODY, bodies.size() / 2);
    }

    /** The estimate above which a request can never be answered. */
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
