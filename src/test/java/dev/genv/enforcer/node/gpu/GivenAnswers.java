package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.facts.GpuFacts;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** A source that gives the first answers once each, and then the last one for ever. */
final class GivenAnswers<T extends GpuFacts> implements GpuSource<T> {
    private final Deque<T> first = new ArrayDeque<>();
    private T last;
    int readings;
    int forgotten;
    int releases;
    int interruptions;

    GivenAnswers(T last) {
        this.last = last;
    }

    void give(List<? extends T> answers) {
        first.clear();
        first.addAll(answers);
        last = first.removeLast();
    }

    @Override
    public T read() throws InterruptedException {
        readings++;
        if (interruptions > 0) {
            interruptions--;
            throw new InterruptedException();
        }
        return first.isEmpty() ? last : first.removeFirst();
    }

    @Override
    public void forgetDevices() {
        forgotten++;
    }

    @Override
    public void release() {
        releases++;
    }
}
