-- Version 21: the view of the samples of instructions says when they were read.
-- The view is defined twice: files that are upgraded store it, and older files that are only read get it as a temporary view.
drop view kernel_samples;
create view kernel_samples as
select k.run, k.process, k.device, k.number as kernel, n.text as name, i.offset, t.text as instruction, f.text as file,
       i.line, cf.text as caller_file, i.caller_line, r.text as reason, s.samples, s.unissued, s.start, s.end
from stall_sample s
join sampled_instruction i on i.run = s.run and i.number = s.instruction
join sampled_kernel k on k.run = i.run and k.number = i.kernel
left join string n on n.id = k.name
left join string t on t.id = i.text
left join string f on f.id = i.file
left join string cf on cf.id = i.caller_file
left join string r on r.id = s.reason;

-- reading older files:
create temp view kernel_samples as
select k.run, k.process, k.device, k.number as kernel, n.text as name, i.offset, t.text as instruction, f.text as file,
       i.line, cf.text as caller_file, i.caller_line, r.text as reason, s.samples, s.unissued, s.start, s.end
from stall_sample s
join sampled_instruction i on i.run = s.run and i.number = s.instruction
join sampled_kernel k on k.run = i.run and k.number = i.kernel
left join string n on n.id = k.name
left join string t on t.id = i.text
left join string f on f.id = i.file
left join string cf on cf.id = i.caller_file
left join string r on r.id = s.reason;
